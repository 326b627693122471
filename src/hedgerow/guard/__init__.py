"""Hide exact values: tell each as a run of values, or draw all anew inside each group."""
