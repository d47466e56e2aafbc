"""The files of deploy/, with containers as processes of this machine: their commands, files and checks."""
