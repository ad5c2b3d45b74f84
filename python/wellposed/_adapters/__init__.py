"""What the adapters for PyTorch, TensorFlow and JAX share. Nothing here imports a framework."""
