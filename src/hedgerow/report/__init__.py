"""6 TELL: one offline HTML page that says what was released and what was measured."""
