"""What is deployed, as processes of this machine: the commands, files and checks of its containers."""
