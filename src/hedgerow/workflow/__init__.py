"""The steps of a release as a service: what command line, notebook and studio share."""
