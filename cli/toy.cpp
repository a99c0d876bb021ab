// attend toy DIR: writes the built-in corpus.
#include "cli/command.hpp"
#include "core/log.hpp"
#include "data/toy/corpus.hpp"

namespace attend {
namespace {

void run(const ToyConfig& config, const OptionOrigins&) {
  const ToyReport corpus = write_toy_corpus(config);
  for (const ToySet& set : corpus.translation) {
    log::info("{}/{}.{{en,de}}: {} sentence pairs, {} English and {} German words, {:.1f} per sentence, at most {}",
              config.directory, set.name, set.sentences, set.english_words, set.german_words,
              static_cast<double>(set.english_words) / static_cast<double>(set.sentences), set.longest);
  }
  log::info("{}/{{train,valid,test}}.en.tags: a part of speech for each English word", config.directory);
  log::info("{}/test.align: gold word alignments of the test set", config.directory);
  for (const ToySet& set : corpus.translation) {
    if (set.trees == 0) continue;
    log::info("{}/trees.{}.{{en,de}}.conllu: dependency trees of the first {} sentence pairs", config.directory,
              set.name, set.trees);
  }
  for (const ToyPart& part : corpus.parts) {
    log::info("{}/{}: {} training {}, {} dev, {} test", config.directory, part.name, part.train, part.unit, part.dev,
              part.test);
  }
  if (config.challenge) {
    log::info(
        "{}/challenge/{{english,german,en-de}}.tsv: {} English and {} German minimal pairs, and {} of translations",
        config.directory, corpus.english_pairs, corpus.german_pairs, corpus.translation_pairs);
  }
}

}  // namespace

Command toy_command() {
  return make_command<ToyConfig>(
      "toy", "write the built-in corpus: English-German sentence pairs, documents, summaries and labelled sets", run);
}

}  // namespace attend
