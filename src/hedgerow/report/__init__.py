"""Report an audit: one offline HTML page on the release and the measured figures, also as text and pictures."""
