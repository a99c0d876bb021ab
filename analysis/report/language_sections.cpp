// The sections of a comparison of language models.
#include <spdlog/fmt/fmt.h>

#include "analysis/report/section_parts.hpp"

namespace attend {
namespace {

class LanguageSections : public SectionMaker {
 public:
  explicit LanguageSections(const LanguageComparison& comparison) : SectionMaker(comparison), all_(comparison) {}

  std::vector<Section> sections() const {
    const TestText& test = all_.test;
    return measured_sections(all_,
                             fmt::format("Test text: {}, {} with {} words and {} bytes.", test.files,
                                         counted(test.documents, "document"), fixed(test.words), fixed(test.bytes)),
                             "5 and 6", cost(), {where(), why()});
  }

 private:
  Section cost() const {
    Section section{"cost", "3. Cost",
                    "Cost of the first run of each system. Times depend on the machine and on its other load; "
                    "parameters do not."};
    Table table{"Cost of training", by_system({{"Quantity", false}})};
    add_cost(table, "Parameters", &Cost::parameters, 0);
    add_cost(table, "Pieces per word of the test text", &Cost::pieces_per_word, 2);
    add_training_costs(table);
    section.add(std::move(table));
    if (!it_.equal_vocabularies) {
      section.add(Paragraph{
          "The vocabularies differ: a token is a piece of the system's own vocabulary, so numbers of tokens and tokens "
          "per second cannot be compared between systems."});
    }
    return section;
  }

  Section where() const {
    Section section{"where", "5. Breakdown", "The loss by groups of words: -log p, the sum over the pieces of a word."};
    for (const Breakdown& breakdown : it_.where) section.add(figure_of(breakdown, 2));
    if (it_.where.empty()) section.add(Paragraph{"The words of the test text were not divided into groups."});
    add_contrasts(section);
    return section;
  }

  Section why() const {
    Section section{"why", "6. Possible causes",
                    "What the models make of a longer context, and how far back they look. Neither proves a cause."};
    add_learning_rates(section);
    add_contexts(section);
    add_attention(section);
    return section;
  }

  void add_contexts(Section& section) const {
    LineChart chart{"Loss by length of context", "Tokens of context", "Loss in nats per word"};
    Table table{"Loss in nats per word by length of context", by_system({{"Tokens of context"}})};
    for (std::size_t s = 0; s < systems().size(); ++s) chart.series.push_back({name(s), s});
    for (const ContextLoss& context : all_.contexts) {
      const auto tokens = static_cast<double>(context.tokens);
      std::vector<TableCell> row{fixed(context.tokens)};
      for (std::size_t s = 0; s < systems().size(); ++s) {
        const std::optional<Estimate>& loss = context.loss[s];
        chart.series[s].points.push_back({tokens, loss ? loss->value : kNotMeasured});
        row.emplace_back(interval(loss, 2));
      }
      table.rows.push_back(std::move(row));
    }
    section.add(
        Figure{"Loss by length of context",
               fmt::format(
                   "The same {} at random places of the text; each of their pieces is predicted from exactly that "
                   "many tokens before it, which may begin in an earlier document. Where a curve stops falling, the "
                   "model does not use more context. A dash: the model cannot read that many tokens. The words are "
                   "the same in every row and column. Intervals are those of drawing other words, as if these were "
                   "independent.",
                   counted(all_.context_words, "word")),
               {chart},
               table},
        "The test text is too short for the loss by length of context.");
  }

  void add_attention(Section& section) const {
    std::vector<std::string> without;
    for (std::size_t s = 0; s < systems().size(); ++s) {
      const std::vector<DistanceShares>& layers = all_.attention[s];
      if (layers.empty()) {
        without.push_back(name(s));
        continue;
      }
      Table table{fmt::format("Attention of {} by distance, in percent", name(s)), {{"Layer"}}};
      for (const std::string& distance : all_.distances) table.columns.push_back({distance});
      for (const DistanceShares& layer : layers) {
        std::vector<TableCell> row{std::to_string(layer.layer)};
        for (const double share : layer.shares) row.emplace_back(fixed(100 * share, 1), share);
        table.rows.push_back(std::move(row));
      }
      section.add(Figure{"Attention of " + name(s) + " by distance",
                         "The share of a layer's attention that goes to tokens at each distance, the mean over heads "
                         "and tokens of the beginnings of documents; 0 is the token itself. Layers are numbered from "
                         "0, the lowest.",
                         {},
                         std::move(table)});
    }
    if (!without.empty()) section.add(Paragraph{"Without attention: " + listed(without) + "."});
  }

  const LanguageComparison& all_;
};

}  // namespace

SectionReport section_report(const LanguageComparison& comparison) {
  return {comparison_title(comparison), LanguageSections(comparison).sections(), made_by(comparison) + "."};
}

}  // namespace attend
