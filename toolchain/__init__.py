"""Sets up every tool that rehearsals and tests need. Standard library only: it runs before the venv exists."""
