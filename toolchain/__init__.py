"""Sets up every tool that Feedline's rehearsals and tests need. Standard library only: it runs before the venv exists."""
