"""What operators inspect and change: the audit log, figures, and the queries of `horae doctor`."""
