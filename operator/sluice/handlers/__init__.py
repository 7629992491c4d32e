"""The kopf shell: it says when. Each handler is a few lines; `register` puts them into a registry."""
