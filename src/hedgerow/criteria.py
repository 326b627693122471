"""What every released group must satisfy, stated once for growing, verifying and reporting."""
