"""A recommender: ratings of 1 to 5 stars, factorised as mean + P Qᵀ; the nuclear norm of P Qᵀ keeps the rank low."""
import wellposed as wp

people, products, tastes, factors = 200, 100, 3, 8
g = wp.random.Generator(11)
liked = g.normal((people, tastes)) @ g.normal((tastes, products))
ratings = wp.clip(wp.round(3.0 + 0.7 * liked + 0.3 * g.normal((people, products))), 1.0, 5.0)
lot = g.uniform((people, products))
known, held_out = lot < 0.3, lot > 0.9
mean = wp.sum(wp.where(known, ratings, 0.0)) / wp.count_nonzero(known)
first = 0.1 * g.normal((people, factors)), 0.1 * g.normal((products, factors))


def squares(x: wp.Tensor, which: wp.Tensor) -> wp.Tensor:
    return wp.sum(wp.where(which, wp.square(mean + x - ratings), 0.0))


def stars(x: wp.Tensor) -> float:
    return round(float(wp.sqrt(squares(x, held_out) / wp.count_nonzero(held_out))), 1)


def values(P: wp.Tensor, Q: wp.Tensor) -> wp.Tensor:
    """The singular values of P Qᵀ, from the QR of both."""
    return wp.linalg.svdvals(wp.linalg.qr(P).R @ wp.matrix_transpose(wp.linalg.qr(Q).R))


def trained(weight: float) -> tuple[wp.Tensor, wp.Tensor]:
    P, Q = first
    speed = [wp.zeros_like(P), wp.zeros_like(Q)]
    for step in range(300):
        wp.set_step(step)
        with wp.GradientTape() as tape:
            tape.watch([P, Q])
            loss = squares(P @ wp.matrix_transpose(Q), known) + weight * wp.sum(values(P, Q))
        speed = [0.9 * v - 0.001 * slope for v, slope in zip(speed, tape.gradient(loss, [P, Q]))]
        P, Q = P + speed[0], Q + speed[1]
    return P, Q


plain, low = trained(0.0), trained(13.0)
by_mean, by_factors, by_norm = (stars(x) for x in (wp.zeros((people, products)), plain[0] @ wp.matrix_transpose(plain[1]),
                                                   low[0] @ wp.matrix_transpose(low[1])))
print(f"held-out error in stars: {by_mean} by the mean, {by_factors} by {factors} factors, {by_norm} with the nuclear norm")
print("singular values above 1:", wp.count_nonzero(values(*low) > 1.0).item())
