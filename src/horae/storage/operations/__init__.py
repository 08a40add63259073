"""What operators look at and change: nodes, queues, the audit log, figures, `horae doctor`."""
