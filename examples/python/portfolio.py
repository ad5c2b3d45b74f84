"""Portfolio risk from 60 days of 100 assets: the covariance is singular, whatever the program does next."""
import wellposed as wp

g = wp.random.Generator(7)
market = g.normal((60, 1), std=0.01)
beta = g.uniform((1, 100), low=0.5, high=1.5)
returns = market * beta + g.normal((60, 100), std=0.02)

sample = wp.linalg.covariance(returns)
_, wrong = wp.linalg.diagnosed.inv(sample)
print("What is wrong:", wrong.status, "- rank", wrong[0].rank, "of 100: 60 days span at most 59 directions around their mean.")

shrunk, how = wp.linalg.diagnosed.covariance(returns, shrinkage="ledoit_wolf")
print(f"Ledoit and Wolf take {how[0].ridge:.3f} of the diagonal.")
x, judged = wp.linalg.diagnosed.solve(shrunk, wp.ones(100), certify=True)
weights = x / wp.sum(x)
print("certified:", judged[0].certified, "- condition", round(judged[0].cond, 1))
for i in range(3):
    print(f"  weight of asset {i}: {weights[i].item():+.6f}")
