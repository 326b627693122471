"""Tree-pattern-preserving sanitization (Fu et al. 2010), corrected."""
