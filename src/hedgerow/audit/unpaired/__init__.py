"""An audit of tables whose rows do not belong together: synthetic data, strangers' files."""
