"""Performance rows: each compares with peers in the same run and reports ratios; seconds of one machine mean little."""
