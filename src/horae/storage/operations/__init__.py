"""What operators inspect and change: nodes, queues, the audit log, figures, and the queries of `horae doctor`."""
