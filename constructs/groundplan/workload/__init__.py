"""The workload stack: the NeMo RL job."""
