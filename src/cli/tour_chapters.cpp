// The chapters of `wellposed tour`. The lines of each function are printed as they stand here, followed by what they
// gave: `show(value);` prints the code since the last one, and the value. A new chapter is a function and a row.
#include <unistd.h>

#include <filesystem>

#include "base/text.hpp"
#include "cli/doctor.hpp"
#include "cli/show.hpp"
#include "wellposed/wellposed.hpp"

namespace wp::cli {
namespace {

void tensors(Show& show) {
  show.words(
      "A tensor takes shape and dtype from what it is made of. Shapes broadcast, numbers take the array's dtype.");
  const Tensor a{{1, 2, 3}, {4, 5, 6}};
  show(a);
  const Tensor b = a + Tensor{10, 20, 30};
  show(b);
  show(b + 0.5);
  show.words("Indexing is NumPy's. Tensors are values: writing to one leaves others that shared its memory alone.");
  show(b[{1, slice(0, 2)}]);
  Tensor c = b;
  c[{slice(), 0}] = -1;
  show(c);
  show(b);
  show.words("Reductions and views follow the array API standard. Floats are added pairwise.");
  show(sum(b, {.axis = 1}));
  show(permute_dims(b, {1, 0}));
  show.words("Misuse raises at once, and says the rule, what came and what to do.");
  try {
    show(a + Tensor{1, 2});
  } catch (const ShapeError& error) {
    show(error.what());
  }
}

void blame(Show& show) {
  show.words(
      "An Inf that an op makes is not raised there: it may be masked later. It is noted, and raised where it leaves "
      "the "
      "computation, with the story of where it came from. Here a log three layers up meets a zero.");
  const auto layer1 = [](const Tensor& x) {
    const scope here("layer1");
    return log(x);
  };
  const auto layer2 = [](const Tensor& x) {
    const scope here("layer2");
    return x + 1.0;
  };
  const auto layer3 = [](const Tensor& x) {
    const scope here("layer3");
    return sum(x, {.axis = 1});
  };
  const Tensor data{{3.0, 1.5, 2.0}, {0.5, 0.0, 4.0}};
  const Tensor loss = sum(layer3(layer2(layer1(data))));
  try {
    show(std::to_string(loss.item<double>()));
  } catch (const NonFiniteError& error) {
    show(error.what());
  }
  show.words("Printing never raises: a footnote names the source. Inf that is meant is not blamed.");
  show(log(data));
  const Tensor meant = [&] {
    const allow_nonfinite here;
    return log(data);
  }();
  show(meant);
}

void inverse(Show& show) {
  show.words(
      "A matrix that has no inverse is refused, with the reason: here one row is a multiple of the other, exactly.");
  const Tensor a{{1.0, 1.0}, {1.00001, 1.00001}};
  try {
    show(linalg::inv(a));
  } catch (const SingularMatrix& error) {
    show(error.what());
  }
  show.words(
      "Through the singular values, what counts as zero is said; or the problem is regularised, λ given or found.");
  show(linalg::svdvals(a));
  show(linalg::pinv(a, {.atol = 1e-10}));
  show(linalg::inv(a, {.ridge = 1e-6}));
  show(max(abs(linalg::inv(a, {.ridge = "auto"}) - linalg::pinv(a))));
  show.words("One bad member of a batch does not take the others with it.");
  Tensor many = broadcast_to(Tensor{{4.0, 1.0}, {2.0, 3.0}}, {1000, 2, 2});
  many[{17}] = a;
  const auto [value, diagnosis] = linalg::diagnosed::inv(many);
  show(diagnosis.text());
  show(sum(all(isfinite(value), {.axis = {1, 2}})));
  show.words("Badly scaled is not ill-posed, and a bound can be proved.");
  const auto answer =
      linalg::diagnosed::solve(Tensor{{1e150, 2.0}, {3.0, 1e-140}}, Tensor{1.0, 1.0}, {.certify = true});
  show(answer.diagnosis.text());
}

void gradients(Show& show) {
  show.words("The sum of singular values has the gradient U Vᴴ, here and where singular values repeat.");
  const Tensor a{{1.0, 2.0}, {3.0, 4.0}};
  GradientTape tape({.persistent = true});
  tape.watch(a);
  const auto f = linalg::svd(a);
  show(tape.gradient(sum(f.S), a));
  show(max(abs(tape.gradient(sum(f.S), a) - matmul(f.U, f.Vh))));
  show.words(
      "At diag(2, 2, 1) too. Where a singular value vanishes the sum has a kink: a subgradient is given, with a "
      "finding.");
  const Tensor tied{{2.0, 0.0, 0.0}, {0.0, 2.0, 0.0}, {0.0, 0.0, 1.0}}, flat{{1.0, 2.0}, {2.0, 4.0}},
      nothing = zeros({2, 2});
  const FindingHandler loud = on_finding([](const Finding&) {});
  const auto of_sum = [](const Tensor& at) {
    GradientTape own;
    own.watch(at);
    const Tensor slope = own.gradient(sum(linalg::svd(at).S), at);
    return own.findings().empty() ? slope.to_string() : slope.to_string() + ", " + own.findings()[0].code;
  };
  show(of_sum(tied));
  show(of_sum(flat));
  show(of_sum(nothing));
  on_finding(loud);
}

void factors(Show& show) {
  show.words("QR is no approximation of the SVD, but has a gradient of its own: here of Σ|diag R|.");
  const Tensor a{{1.0, 2.0}, {3.0, 4.0}};
  const auto of_diagonal = [](const Tensor& x) { return sum(abs(linalg::diagonal(linalg::qr(x).R))); };
  show(gradient(of_diagonal, a));
  show.words(
      "ΣR² is ‖A‖², with the gradient 2 A: also at diag(2, 2, 1), and without full rank, where Q is one of many.");
  const Tensor tied{{2.0, 0.0, 0.0}, {0.0, 2.0, 0.0}, {0.0, 0.0, 1.0}}, flat{{1.0, 2.0}, {2.0, 4.0}},
      nothing = zeros({2, 2});
  const auto of_squares = [](const Tensor& x) { return sum(square(linalg::qr(x).R)); };
  show(gradient(of_squares, tied));
  show(gradient(of_squares, flat));
  show(gradient(of_squares, nothing));
  show.words("A loss of U, S and V together: ‖A − U S Vᴴ‖² is 0 for every A, and so is its gradient.");
  const auto rebuilt = [](const Tensor& x) {
    const auto f = linalg::svd(x);
    return matmul(f.U * f.S, f.Vh);
  };
  const auto of_nothing = [&](const Tensor& x) { return sum(square(x - rebuilt(x))); };
  show(max(abs(gradient(of_nothing, a))));
  show.words("‖U S Vᴴ − 1‖² has the gradient 2 (A − 1), whatever the singular values: this is half of it, plus 1.");
  const auto of_distance = [&](const Tensor& x) { return sum(square(rebuilt(x) - 1.0)); };
  show(gradient(of_distance, tied) / 2 + 1.0);
  show(gradient(of_distance, flat) / 2 + 1.0);
  show(gradient(of_distance, nothing) / 2 + 1.0);
  show.words(
      "U where S is meant, as a mixed-up unpacking gives: at a tie ΣU has no derivative, and the tape says so.");
  GradientTape tape({.persistent = true});
  tape.watch(tied);
  const Tensor mixed_up = sum(linalg::svd(tied).U);
  try {
    show(tape.gradient(mixed_up, tied));
  } catch (const GaugeError& error) {
    show(error.what());
  }
  show.words("Where nothing repeats only the signs of the vectors are arbitrary, and verify tries them.");
  tape.reset();
  tape.watch(a);
  const Tensor again = sum(linalg::svd(a).U);
  try {
    show(tape.gradient(again, a, {.verify = true}));
  } catch (const GaugeError& error) {
    show(error.what());
  }
  show.words("Masked branches do not poison gradients.");
  const auto masked = [](const Tensor& x) { return sum(where(greater(x, 0), log(x), 0)); };
  show(gradient(masked, Tensor{0.0, 1.0, 4.0}));
}

void sources(Show& show) {
  show.words("An assertion stands before what follows it, and names the cause: log(0), element 2.");
  const auto process_tensor = [](const Tensor& t) { return assert_finite(log(t), "log of the input") * 2; };
  try {
    show(process_tensor({1.0, 2.0, 0.0, 4.0}));
  } catch (const NonFiniteError& error) {
    show(error.what());
  }
  show.words("A trace keeps the calls; blame goes back from the loss to the row of the data set, shuffled or not.");
  const Trace trace;
  Tensor table = ones({10000, 5});
  table[{7311, 4}] = -1.0;
  const Tensor data = with_rows(table, "data");
  const Tensor batch = take(data, Tensor{12, 7311, 40}, {.axis = 0});
  const Tensor loss = mean(tanh(log(batch)));
  show(wp::blame(loss).text());
  show.words("The traced calls again in 32 digits: who lost the digits of this variance?");
  const Tensor x = astype(Tensor{1000.1, 1000.2, 1000.3}, f32);
  const Tensor variance = mean(square(x)) - square(mean(x));
  show(replay().text());
  show.words("The smallest part of the data that still fails:");
  const auto fails = [](const Tensor& rows) { return static_cast<bool>(any(rows < 0)); };
  const Bisection found = bisect(table, fails);
  show(say("row ", found.rows[0], " of ", table.shape(0), ", after ", found.tries, " tries"));
}

void training(Show& show) {
  show.words(
      "A model is a function. Scopes name its parameters and what it logs; here 64 units after a relu learn what the "
      "same units with other weights say.");
  const auto my_model = [](nn::Pass& pass, const Tensor& input) {
    Tensor layer1, layer2;
    {
      const scope here("layer1");
      layer1 = relu(input);
      summary::histogram("output", layer1);
    }
    const scope here("layer2");
    layer2 = nn::dense(pass, layer1, 64);
    summary::histogram("output", layer2);
    return layer2;
  };
  const Tensor x = random::Generator(1).normal({640, 32}, {.dtype = f32});
  nn::Model model({.seed = 4}), teacher({.seed = 2});
  nn::Pass lesson(teacher);
  const Dataset data({{"x", x}, {"y", my_model(lesson, x)}});
  const std::string folder = "wellposed-tour-" + std::to_string(getpid());
  const std::string runs = std::filesystem::temp_directory_path() / folder;
  nn::Optimizer optimizer = nn::adam({.rate = nn::cosine_decay(0.02, 200)});
  nn::Trainer trainer(model, optimizer,
                      [&](nn::Pass& pass, const Batch& b) { return nn::mse(my_model(pass, b["x"]), b["y"]); },
                      {.epochs = 10, .summaries = runs, .watch_every = 10, .progress = false});
  const nn::History history = trainer.fit(data);
  show(say("loss ", history.epochs.front().values.at("loss"), " → ", history.epochs.back().values.at("loss")));
  show.words("One switch (watch_every) logged activations, weights and gradients of the whole model:");
  const Events events = read_events(runs).at("");
  std::string tags;
  for (const auto& [tag, series] : events.histograms) tags += tag + "\n";
  show(tags);
  show.words(say("Look at it with  tensorboard --logdir ", runs, "  or without TensorBoard:  wellposed plot ", runs,
                 " --html page.html"));
}

void files(Show& show) {
  show.words("Files are whole or not there, and none is trusted: this one is cut short after it was written.");
  const std::string name = "wellposed-tour-" + std::to_string(getpid()) + ".npy";
  const std::string path = std::filesystem::temp_directory_path() / name;
  save(path, Tensor{{1.0, 2.0}, {3.0, 4.0}});
  show(load(path));
  std::filesystem::resize_file(path, 140);
  try {
    show(load(path));
  } catch (const FormatError& error) {
    show(error.what());
  }
  std::filesystem::remove(path);
}

void machine(Show& show) {
  show.words("`wellposed doctor` says whether this machine runs it as it should:");
  print_doctor();
}

}  // namespace

std::span<const Chapter> chapters() {
  static constexpr Chapter table[] = {{"Tensors", tensors},
                                      {"An Inf, and where it came from", blame},
                                      {"An inverse that refuses, and says why", inverse},
                                      {"Gradients that are right, or say why they cannot be", gradients},
                                      {"Gradients through factors: QR, U S Vᴴ, and U where S is meant", factors},
                                      {"The source: which op, which element, which row", sources},
                                      {"Training that can be watched", training},
                                      {"Files that lie", files},
                                      {"This machine", machine}};
  return table;
}

}  // namespace wp::cli
