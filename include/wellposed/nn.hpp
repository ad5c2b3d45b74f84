// Models: parameters with names, layers and losses made of ops, optimisers.
//   wp::Tensor my_model(wp::nn::Pass& pass, const wp::Tensor& x) {
//     const wp::scope here("layer1");
//     return wp::nn::dense(pass, x, 64, {.activation = "relu"});  // parameters layer1/dense/weights,
//     layer1/dense/bias
//   }
//   wp::nn::Model model({.seed = 7});
//   wp::nn::Optimizer optimizer = wp::nn::adam({.rate = 1e-3});
//   for (const wp::Batch& b : data.epoch(0)) {
//     wp::nn::Pass pass(model, true);                               // true: training
//     optimizer.step(pass, wp::nn::mse(my_model(pass, b["x"]), b["y"]));
//   }
// wellposed/trainer.hpp has the loop around it.
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wellposed/gradient_tape.hpp"
#include "wellposed/io.hpp"
#include "wellposed/random.hpp"

namespace [[gnu::visibility("default")]] wp {
namespace nn {

using Where = std::source_location;

// The first value of a parameter. Fans of a shape [.., in, out]: in is the product of all lengths but the last.
using Initializer = std::function<Tensor(const Dims& shape, DType dtype, random::Generator& draws)>;
Initializer constant(double value);
Initializer normal(double std);
Initializer uniform(double limit);        // −limit … limit
Initializer glorot_uniform();             // limit √(6 / (in + out)): Glorot & Bengio 2010
Initializer glorot_normal();              // std √(2 / (in + out))
Initializer he_uniform();                 // limit √(6 / in): He et al. 2015, for relu
Initializer he_normal();                  // std √(2 / in)
Initializer lecun_normal();               // std √(1 / in)
Initializer orthogonal(double gain = 1);  // orthonormal rows or columns: Saxe et al. 2014

struct Parameter {
  std::string name;  // "layer1/dense/weights"
  Tensor value;
  bool trained = true;  // false: running statistics
  bool told = false;    // that the loss does not depend on it
};

struct ModelOptions {
  std::uint64_t seed = 0;  // the first value of a parameter is a function of seed, name and shape
  DType dtype = f32;
};

// Parameters by name, and the random numbers that passes draw. A model has the parameters that its passes asked for.
// Copies are values: what is done to one does not change the other.
class Model {
 public:
  explicit Model(const ModelOptions& options = {});
  const std::vector<Parameter>& parameters() const noexcept { return parameters_; }  // in the order of their making
  const Tensor& operator[](std::string_view name) const;                             // throws ArgumentError
  void set(std::string_view name, const Tensor& value);  // of the same shape and dtype, else ShapeError, DtypeError
  std::int64_t size() const noexcept;                    // elements that are trained
  const ModelOptions& options() const noexcept { return options_; }
  random::Generator& random() noexcept { return random_; }
  const random::Generator& random() const noexcept { return random_; }

  // .safetensors (or .npz); there is the whole new file or the one before.
  void save(const std::string& path, Where where = Where::current()) const;
  // The parameters must be those of this model, by name, shape and dtype: else FormatError says which are not, and
  // nothing is changed. A model that has none yet takes what the file holds, and from then on makes none.
  void load(const std::string& path, Where where = Where::current());
  // The same from memory; `source` names it in messages.
  void assign(const NamedTensors& values, std::string_view source);

 private:
  friend class Pass;
  friend class Optimizer;
  std::size_t find(std::string_view name) const noexcept;  // npos: none
  std::size_t add(Parameter parameter);

  ModelOptions options_;
  std::vector<Parameter> parameters_;
  std::map<std::string, std::size_t, std::less<>> index_;
  random::Generator random_;
  bool complete_ = false;  // loaded: no new names
};

// One run of a model. Layers ask it for their parameters, which are named by the scopes they stand in (those that
// were open when the pass began are left out). A training pass records what is computed from them.
class Pass {
 public:
  explicit Pass(Model& model, bool training = false);
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;
  Model& model() noexcept { return model_; }
  bool training() const noexcept { return tape_.has_value(); }
  random::Generator& random() noexcept { return model_.random_; }

  // The parameter of this name in the current scope, made by `first` if the model has none. Asking twice in one pass
  // is refused: two layers of one name would share weights in silence. again() begins another run over the same ones.
  Tensor parameter(std::string_view name, const Dims& shape, const Initializer& first);
  void again();
  // What is kept from pass to pass but not trained. A new value counts from commit() on.
  Tensor state(std::string_view name, const Dims& shape, const Initializer& first);
  void set_state(std::string_view name, const Tensor& value);
  void commit();

  // Notes an activation of the current scope for logs; layers do it with their results ("output").
  void see(std::string_view name, const Tensor& value);
  const NamedTensors& seen() const noexcept { return seen_; }

  // ∂loss/∂parameter of a training pass, one per parameter of the model; undefined for those that are not trained or
  // that the loss does not depend on (WP-NNM-003 says it, once). Raises for Inf and NaN as every gradient
  // does.
  std::vector<Tensor> gradients(const Tensor& loss, Where where = Where::current());

 private:
  std::string_view path() const noexcept;  // scopes that were opened since the pass began
  std::string full(std::string_view name) const;
  std::size_t find(std::string_view name);
  const Parameter& ask(std::string_view name, const Dims& shape, const Initializer& first, bool trained);

  Model& model_;
  std::size_t outside_;  // letters of the scope's path that are not part of names
  std::optional<GradientTape> tape_;
  std::size_t next_ = 0;  // passes ask for parameters in the same order
  std::vector<char> used_;
  std::vector<std::pair<std::size_t, Tensor>> states_;
  NamedTensors seen_;
};

// Layers. Each opens a scope of its name, and takes the user's line along to its ops.
struct DenseOptions {
  std::string_view name = "dense";
  std::string_view activation = "none";
  bool bias = true;
  Initializer weights = {};  // none: glorot_uniform()
  Initializer offsets = {};  // none: zeros
};
// activation(x·weights + bias): x [.., in] gives [.., units].
Tensor dense(Pass& pass, const Tensor& x, std::int64_t units, const DenseOptions& options = {},
             Where where = Where::current());

struct EmbeddingOptions {
  std::string_view name = "embedding";
  Initializer weights = {};  // none: normal(0.05)
};
// Rows of a table [count, width] by their numbers 0 … count − 1 (others: IndexError): [..] gives [.., width].
Tensor embedding(Pass& pass, const Tensor& numbers, std::int64_t count, std::int64_t width,
                 const EmbeddingOptions& options = {}, Where where = Where::current());

struct LayerNormOptions {
  std::string_view name = "layer_norm";
  double epsilon = 1e-5;
};
// (x − mean) / √(variance + ε) · scale + offset along the last axis: Ba, Kiros & Hinton 2016.
Tensor layer_norm(Pass& pass, const Tensor& x, const LayerNormOptions& options = {}, Where where = Where::current());

struct BatchNormOptions {
  std::string_view name = "batch_norm";
  double epsilon = 1e-5;
  double momentum = 0.9;  // of the running statistics: momentum · old + (1 − momentum) · batch
};
// The same over all axes but the last: Ioffe & Szegedy 2015. Training uses the mean and variance of the batch (two
// rows at least) and counts them, the variance over n − 1, into running ones; evaluation uses those.
Tensor batch_norm(Pass& pass, const Tensor& x, const BatchNormOptions& options = {}, Where where = Where::current());

// Training: each element is 0 with probability `rate`, else x / (1 − rate). Evaluation: x. Srivastava et al. 2014.
Tensor dropout(Pass& pass, const Tensor& x, double rate, Where where = Where::current());

// By name: none relu gelu sigmoid silu softplus tanh softmax.
Tensor activation(std::string_view name, const Tensor& x, Where where = Where::current());

// Losses: one number, the mean over elements or rows. Shapes must be equal; nothing is broadcast.
Tensor mse(const Tensor& y, const Tensor& target, Where where = Where::current());
// d²/2 where |d| ≤ delta, else delta·(|d| − delta/2): Huber 1964.
Tensor huber(const Tensor& y, const Tensor& target, double delta = 1, Where where = Where::current());
// −Σ p·log softmax(logits) along the last axis. labels: numbers of classes [..], 0 … n − 1 (others: IndexError), or
// probabilities in the shape of logits; p = 0 counts nothing, also where a logit is −inf.
Tensor softmax_cross_entropy(const Tensor& logits, const Tensor& labels, Where where = Where::current());

// The learning rate of step 0, 1, 2, …: a number, or a function. ArgumentError for one that is negative, Inf or NaN.
class Schedule {
 public:
  Schedule(double rate);  // NOLINT: implicit on purpose
  template <class F>
  requires(std::invocable<const F&, std::int64_t> && !std::same_as<F, Schedule>) Schedule(F f)  // NOLINT
      : at_(std::move(f)) {}
  double operator()(std::int64_t step) const;

 private:
  std::function<double(std::int64_t)> at_;
};
Schedule exponential_decay(double rate, double factor, std::int64_t every);  // rate · factor^(step / every)
Schedule cosine_decay(double rate, std::int64_t steps, double least = 0);    // half a wave: Loshchilov & Hutter 2017
// {{0, 0.1}, {1000, 0.01}}: the rate of the last entry that began.
Schedule piecewise(std::vector<std::pair<std::int64_t, double>> pieces);
Schedule warmup(std::int64_t steps, Schedule then);  // its rates, times (step + 1) / steps at first

// One step of one parameter: the new weight, of the same shape and dtype (else ShapeError). `slots` are what is kept
// for it, zeros at first; steps count from 1.
struct Rule {
  std::string name;                // "adam": a checkpoint of another rule is refused
  std::vector<std::string> slots;  // names of what is kept
  std::function<Tensor(const Tensor& w, const Tensor& g, std::span<Tensor> slots, double rate, std::int64_t step)>
      update;
};

struct Clip {
  double norm = 0;   // of all gradients together at most; 0: any
  double value = 0;  // of each element at most, in size
};

// A rule, a schedule, and what the rule keeps of a model's parameters. All of an update is done or none: Inf or NaN
// in new weights or slots raise, and nothing is changed.
class Optimizer {
 public:
  Optimizer(Rule rule, Schedule rate, const Clip& clip = {});
  // Gradients of the loss, update, running statistics.
  void step(Pass& pass, const Tensor& loss, Where where = Where::current());
  void apply(Model& model, std::vector<Tensor> gradients, Where where = Where::current());

  std::int64_t steps() const noexcept { return steps_; }
  double rate() const { return rate_(steps_); }  // of the next step
  const std::string& name() const noexcept { return rule_.name; }
  // Slots by "SLOT/PARAMETER", and back; FormatError says what does not belong to the model.
  NamedTensors slots(const Model& model) const;
  void restore(const Model& model, const NamedTensors& slots, std::int64_t steps, std::string_view source);

 private:
  Rule rule_;
  Schedule rate_;
  Clip clip_;
  std::int64_t steps_ = 0;
  std::vector<std::vector<Tensor>> slots_;  // by parameter, in the model's order
};

// The gradients with a joint 2-norm of at most `most` > 0, without overflow; the norm they had. Those with Inf or NaN
// have no direction: they stay as they are.
std::pair<std::vector<Tensor>, double> clip_norm(const std::vector<Tensor>& gradients, double most);
std::vector<Tensor> clip_value(const std::vector<Tensor>& gradients, double most);  // most ≥ 0

struct SgdOptions {
  Schedule rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;  // added to the gradient, times the weight
  Clip clip = {};
};
// v ← momentum·v + g, w ← w − rate·v; Nesterov: w ← w − rate·(g + momentum·v). Sutskever et al. 2013.
Optimizer sgd(const SgdOptions& options = {});

struct AdamOptions {
  Schedule rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  Clip clip = {};
};
// m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², w ← w − rate·m̂ / (√v̂ + ε), m̂ = m / (1 − β₁ᵗ), v̂ = v / (1 − β₂ᵗ):
// Kingma & Ba 2015.
Optimizer adam(const AdamOptions& options = {});

struct AdamWOptions {
  Schedule rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0.01;
  Clip clip = {};
};
// The same after w ← (1 − rate·weight_decay)·w: Loshchilov & Hutter 2019.
Optimizer adamw(const AdamWOptions& options = {});

}  // namespace nn
}  // namespace gnu::visibility("default")]]wp
