"""The main job on one machine: the very programs that run in Azure, against a simulated one."""
