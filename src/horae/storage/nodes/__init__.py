"""The rows of running nodes, and the program that renews the heartbeat of one."""
