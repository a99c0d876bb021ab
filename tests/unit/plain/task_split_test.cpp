// Labelled files in, samples out: columns, labels, truncation, windows, tags, and what is refused.
#include "data/task/samples.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.hpp"
#include "data/tokenizer/tokenizer_trainer.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

class TaskSplitTest : public TestWithFiles {
 protected:
  // What a reader says of a file.
  std::string refusal(const std::string& text, const LabelledTask& task, const std::string& name = "train.tsv") {
    return user_error_of([&] { read_split(write(name, text), task, tokenizer_, config_, Labelled::yes); });
  }
  std::string text_of(const Sample& sample, std::size_t begin, std::size_t end) const {
    return tokenizer_.decode(std::span(sample.ids).subspan(begin, end - begin));
  }

  Tokenizer tokenizer_ =
      train_tokenizer({write("text", "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ .,?0123456789\n")},
                      {.type = TokenizerType::character});
  SampleConfig config_{.length = 20, .stride = 5, .question_length = 4};
};

TEST_F(TaskSplitTest, ColumnsAreFoundByTheirNames) {
  LabelledTask task{.text = {"b|a", "c"}, .label = "is_duplicate|label"};
  task.labels = labels_of_task(task, write("train.tsv", "label\tc\ta\nyes\tx\ty\nno\tu\tv\n"));
  EXPECT_EQ(task.labels, (std::vector<std::string>{"no", "yes"}));
  const TaskSplit split = read_split((directory_ / "train.tsv").string(), task, tokenizer_, config_, Labelled::yes);
  ASSERT_EQ(split.size(), 2);
  EXPECT_EQ(split.texts[0].first, "y");
  EXPECT_EQ(split.texts[0].second, "x");
  EXPECT_EQ(split.texts[0].gold.label, 1u);
  EXPECT_EQ(split.line(1), 3);
}

TEST_F(TaskSplitTest, AQuoteOfCsvOpensAtTheBeginningOfAValueAlone) {
  const LabelledTask task{.labels = {"0", "1"}};
  const auto texts = [&](const std::string& rows) {
    std::vector<std::string> found;
    const std::string file = write("q.csv", "sentence,label\n" + rows);
    for (const LabelledText& text : read_split(file, task, tokenizer_, config_, Labelled::yes).texts) {
      found.push_back(text.first);
    }
    return found;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts("a 5\" pipe broke,0\na 4\" nail held,1\n"), (Texts{"a 5\" pipe broke", "a 4\" nail held"}));
  EXPECT_EQ(texts("\"one, \"\"two\"\"\nthree\",1\n"), (Texts{"one, \"two\"\nthree"}));
  EXPECT_EQ(refusal("sentence,label\n\"one\" two,1\n", task, "q.csv"),
            (directory_ / "q.csv").string() + ":2: text after a closing quote");
  EXPECT_EQ(refusal("sentence,label\n\"one,1\n", task, "q.csv"),
            (directory_ / "q.csv").string() + ":2: an unclosed quote");
}

TEST_F(TaskSplitTest, IncompleteRowsAreLeftOutWhereTheTaskSaysSo) {
  LabelledTask task{.text = {"a", "b"}, .labels = {"0", "1"}, .skip_incomplete = true};
  const std::string rows = "a\tb\tlabel\nx\ty\t0\nx\ty\nx\t\t1\nu\tv\t1\n";
  const TaskSplit split = read_split(write("train.tsv", rows), task, tokenizer_, config_, Labelled::yes);
  ASSERT_EQ(split.size(), 2);
  EXPECT_EQ(split.line(1), 5);
  const std::string json =
      write("a.jsonl", "{\"a\": \"x\", \"b\": \"y\", \"label\": 1}\n{\"a\": \"x\", \"label\": 1}\n");
  EXPECT_EQ(read_split(json, task, tokenizer_, config_, Labelled::yes).size(), 1);
  EXPECT_THROW(read_split(write("test.tsv", rows), task, tokenizer_, config_, Labelled::no), UserError);
  task.skip_incomplete = false;
  EXPECT_EQ(refusal(rows, task), (directory_ / "train.tsv").string() + ":3: 2 values, expected 3");
}

TEST_F(TaskSplitTest, SeveralLabelsMayBeAListInJson) {
  const LabelledTask task{.kind = TaskKind::multi_label, .labels = {"red", "green"}};
  const std::string rows =
      "{\"sentence\": \"x\", \"label\": [\"green\", \"red\"]}\n{\"sentence\": \"y\", \"label\": []}\n";
  const TaskSplit split = read_split(write("a.jsonl", rows), task, tokenizer_, config_, Labelled::yes);
  EXPECT_EQ(split.texts[0].gold.labels, (std::vector<float>{1, 1}));
  EXPECT_EQ(split.texts[1].gold.labels, (std::vector<float>{0, 0}));
  EXPECT_NE(refusal("{\"sentence\": \"x\", \"label\": [\"red\"]}\n", {.labels = {"red", "green"}}, "b.jsonl"), "");
  EXPECT_EQ(refusal("{\"sentence\": \"x\", \"label\": [\"red, green\"]}\n", task, "c.jsonl"),
            (directory_ / "c.jsonl").string() + ":1: \"red, green\" contains \",\", the separator of labels");
}

TEST_F(TaskSplitTest, SpacesAroundALabelMakeNoOtherOfIt) {
  const std::string file = write("train.tsv", "sentence\tlabel\na\tyes \nb\tno\nc\t yes\n");
  LabelledTask task;
  task.labels = labels_of_task(task, file);
  EXPECT_EQ(task.labels, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(read_split(file, task, tokenizer_, config_, Labelled::yes).texts[2].gold.label, 1u);
  EXPECT_EQ(refusal("sentence\tlabel\na\t 2.5 \n", {.kind = TaskKind::regression}), "");
}

TEST_F(TaskSplitTest, NumbersAsLabelsAreSortedAsNumbers) {
  const std::string file = write("train.tsv", "sentence\tlabel\na\t10\nb\t9\nc\t-1\n");
  EXPECT_EQ(labels_of_task({}, file), (std::vector<std::string>{"-1", "9", "10"}));
}

TEST_F(TaskSplitTest, SeveralLabelsAndNumbers) {
  const LabelledTask labels{.kind = TaskKind::multi_label, .labels = {"red", "green", "blue"}};
  const TaskSplit split =
      read_split(write("a.tsv", "sentence\tlabel\nx\tblue, red\ny\t\n"), labels, tokenizer_, config_, Labelled::yes);
  EXPECT_EQ(split.texts[0].gold.labels, (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(split.texts[1].gold.labels, (std::vector<float>{0, 0, 0}));
  const LabelledTask numbers{.kind = TaskKind::regression};
  EXPECT_EQ(read_split(write("b.tsv", "sentence\tlabel\nx\t2.75\n"), numbers, tokenizer_, config_, Labelled::yes)
                .texts[0]
                .gold.number,
            2.75);
}

TEST_F(TaskSplitTest, WhatIsRefusedIsNamedByFileAndLine) {
  const LabelledTask task{.labels = {"0", "1"}};
  const std::string place = (directory_ / "train.tsv").string();
  EXPECT_EQ(refusal("sentence\tlabel\na\t1\nb\t2\n", task), place + ":3: \"2\" is not a label of the task");
  EXPECT_EQ(refusal("sentence\tlabel\na\t-1\n", task), place + ":2: the labels are hidden (-1)");
  EXPECT_EQ(refusal("sentence\tlabel\n \t1\n", task), place + ":2: an empty text in the column sentence");
  EXPECT_EQ(refusal("sentence\tlabel\n", task), place + ": no texts");
  EXPECT_EQ(refusal("text\tlabel\na\t1\n", task), place + ":1: no column \"sentence\"");
  EXPECT_EQ(refusal("sentence\tlabel\na\tnan\n", {.kind = TaskKind::regression}),
            place + ":2: \"nan\" is not a number");
  EXPECT_THROW(labels_of_task({}, write("one.tsv", "sentence\tlabel\na\t1\nb\t1\n")), UserError);
}

TEST_F(TaskSplitTest, TheLongerPartLosesTokens) {
  SampleMaker maker(tokenizer_, config_);  // room for 17 tokens of a pair; a text begins with a space
  const auto lengths = [&](std::size_t first, std::size_t second) {
    const Sample sample = maker.of_text({.first = std::string(first, 'x'), .second = std::string(second, 'y')}, 0);
    EXPECT_LE(sample.ids.size(), 20u);
    EXPECT_EQ(sample.ids.front(), tokenizer_.special().cls);
    EXPECT_EQ(sample.ids.back(), tokenizer_.special().sep);
    EXPECT_EQ(sample.ids[sample.first - 1], tokenizer_.special().sep);
    return std::pair(sample.first - 2, sample.ids.size() - sample.first - 1);
  };
  EXPECT_EQ(lengths(3, 4), std::pair(4u, std::size_t{5}));
  EXPECT_EQ(maker.num_cut(), 0);
  EXPECT_EQ(lengths(3, 40), std::pair(4u, std::size_t{13}));
  EXPECT_EQ(lengths(40, 3), std::pair(13u, std::size_t{4}));
  EXPECT_EQ(lengths(40, 40), std::pair(9u, std::size_t{8}));
  EXPECT_EQ(maker.num_cut(), 3);
  EXPECT_EQ(maker.of_text({.first = std::string(40, 'x')}, 0).ids.size(), 20u);
  EXPECT_EQ(lengths(3, 0), std::pair(4u, std::size_t{0}));  // a pair all the same
}

TEST_F(TaskSplitTest, WindowsGoOverTheContextAndHoldTheAnswerWhereItIsWhole) {
  const std::string context = "abc defghi jklmnopq rstuvwxyz";
  const std::vector<Piece> pieces = tokenizer_.encode_pieces(context);
  const Question question{.id = "1", .text = "who", .context = 0, .answers = {{.text = "jkl", .begin = 11}}};
  SampleMaker maker(tokenizer_, config_);
  const std::vector<Sample> windows = maker.of_question(question, pieces, 7);
  ASSERT_GT(windows.size(), 2u);
  std::size_t holding = 0, covered = 0;
  for (const Sample& window : windows) {
    EXPECT_EQ(window.example, 7);
    EXPECT_EQ(window.skipped, &window == &windows[0] ? 0 : (&window)[-1].skipped + 5);
    const std::size_t size = window.ids.size() - window.first - 1;
    covered = window.skipped + size;
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(window.ids[window.first + i], pieces[window.skipped + i].id);
    if (window.answer->begin == 0) continue;
    ++holding;
    EXPECT_EQ(text_of(window, window.answer->begin, window.answer->end + 1), "jkl");
  }
  EXPECT_EQ(covered, pieces.size());
  EXPECT_GT(holding, 0u);
  EXPECT_LT(holding, windows.size());
}

TEST_F(TaskSplitTest, AQuestionLeavesRoomForItsContext) {
  config_.length = 8;
  config_.question_length = 10;
  SampleMaker maker(tokenizer_, config_);
  const std::vector<Piece> context = tokenizer_.encode_pieces("abc");
  const std::vector<Sample> windows = maker.of_question({.id = "1", .text = "which one is it"}, context, 0);
  ASSERT_FALSE(windows.empty());
  EXPECT_EQ(windows[0].first, 6u);  // [CLS], four pieces, [SEP]
  EXPECT_EQ(windows[0].ids[6], context[0].id);
  EXPECT_EQ(maker.num_cut(), 1);
}

TEST_F(TaskSplitTest, TheFirstPieceOfAWordCarriesItsTag) {
  const TaggedSentence sentence{
      .line = 1, .tokens = {"Ann", "saw", "Bob", "again", "today"}, .tags = {"B", "O", "B", "O", "O"}};
  SampleMaker maker(tokenizer_, config_);
  const std::vector<Sample> samples = maker.of_sentences({&sentence, 1}, {"O", "B"});
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[1].skipped, samples[0].words.size());
  std::size_t word = 0;
  for (const Sample& sample : samples) {
    EXPECT_LE(sample.ids.size(), 20u);
    for (std::size_t i = 0; i < sample.words.size(); ++i, ++word) {
      const std::size_t end = i + 1 < sample.words.size() ? sample.words[i + 1] : sample.ids.size() - 1;
      EXPECT_EQ(text_of(sample, sample.words[i], end), sentence.tokens[word]);
      EXPECT_EQ(sample.tags[i], sentence.tags[word] == "B" ? 1 : 0);
    }
  }
  EXPECT_EQ(word, 5u);
}

TEST_F(TaskSplitTest, ASentenceIsReadBetweenTheNearestPiecesOfItsDocument) {
  const std::string file = write("train.txt", "aa O\n\nbb O\n\ncc O\ndd O\n\nee O\n\n-DOCSTART- O\n\nff O\n\ngg O\n");
  const LabelledTask task{.kind = TaskKind::tags, .labels = {"O"}};
  const auto read = [&](std::int64_t context) {
    config_.document_context = context;
    const TaskSplit split = read_split(file, task, tokenizer_, config_, Labelled::yes);
    std::vector<std::string> texts;
    for (const Sample& sample : split.samples) {
      EXPECT_EQ(sample.words.size(), split.sentences[sample.example].tokens.size());
      EXPECT_LE(sample.ids.size(), 20u);
      for (std::size_t i = 0; i < sample.words.size(); ++i) {
        EXPECT_EQ(text_of(sample, sample.words[i], sample.words[i] + 3), split.sentences[sample.example].tokens[i]);
      }
      texts.push_back(text_of(sample, 1, sample.ids.size() - 1));
    }
    return texts;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(read(0), (Texts{"aa", "bb", "cc dd", "ee", "ff", "gg"}));  // each word is a space and two letters
  EXPECT_EQ(read(6), (Texts{"aa bb cc", "aa bb cc", "bb cc dd ee", "cc dd ee", "ff gg", "ff gg"}));
  EXPECT_EQ(read(100),
            (Texts{"aa bb cc dd ee", "aa bb cc dd ee", "aa bb cc dd ee", "aa bb cc dd ee", "ff gg", "ff gg"}));
}

TEST_F(TaskSplitTest, TagsOfEverySchemeAndColumnAreRead) {
  const auto tags = [&](const std::string& text, const TagColumn& column) {
    const std::vector<TaggedSentence> sentences = read_conll(write("tags.txt", text), column, Labelled::yes);
    return std::pair(sentences[0].tags, tag_set(sentences, column.chunks));
  };
  using Tags = std::vector<std::string>;
  const auto iobes = tags("a B-X\nb I-X\nc E-X\nd S-X\ne S-Y\nf O\ng I-X\n", {});
  EXPECT_EQ(iobes.first, (Tags{"B-X", "I-X", "I-X", "B-X", "B-Y", "O", "B-X"}));
  EXPECT_EQ(iobes.second, (Tags{"O", "B-X", "I-X", "B-Y"}));
  const auto parts_of_speech = tags("a NN x\nb O x\nc DT x\n", {.number = 2, .chunks = false});
  EXPECT_EQ(parts_of_speech.first, (Tags{"NN", "O", "DT"}));
  EXPECT_EQ(parts_of_speech.second, (Tags{"DT", "NN", "O"}));
  EXPECT_NE(refusal("a NN\n", {.kind = TaskKind::tags}, "train.txt"), "");
  EXPECT_EQ(refusal("a NN\n", {.kind = TaskKind::tags, .label = "3", .chunks = false}, "train.txt"),
            (directory_ / "train.txt").string() + ":1: 2 columns, expected 3");
  EXPECT_EQ(read_conll(write("tokens.txt", "a\n"), {.number = 2}, Labelled::no)[0].tokens, (Tags{"a"}));
  EXPECT_THROW(find_task(write("bad.toml", "kind = \"tags\"\nlabel = \"pos\"\n")), UserError);
}

TEST_F(TaskSplitTest, RowsOfInvalidUtf8AreWarnedOf) {
  const auto warnings = [&](const std::string& name, const std::string& text, const LabelledTask& task) {
    testing::internal::CaptureStderr();
    read_split(write(name, text), task, tokenizer_, config_, Labelled::yes);
    return testing::internal::GetCapturedStderr();
  };
  const LabelledTask labels{.labels = {"0", "1"}}, tags{.kind = TaskKind::tags, .labels = {"O"}};
  const std::string where = (directory_ / "a.tsv").string();
  const std::string said = warnings("a.tsv", "sentence\tlabel\na\t1\nb\xFF\t1\nc\xFE\t0\n", labels);
  EXPECT_NE(said.find("2 lines with invalid UTF-8"), std::string::npos) << said;
  EXPECT_NE(said.find("the first is " + where + ":3"), std::string::npos) << said;
  EXPECT_EQ(warnings("a.tsv", "sentence\tlabel\na\t1\n", labels), "");
  EXPECT_NE(warnings("a.txt", "a O\nb O\nc O\nd\xFF O\n", tags).find("a.txt:4"), std::string::npos);
}

TEST_F(TaskSplitTest, ATestFileOfTokensAloneIsRead) {
  const LabelledTask task{.kind = TaskKind::tags, .labels = {"O", "B-PER"}};
  const TaskSplit split = read_split(write("test.txt", "Ann\nsaw\n\nBob\n"), task, tokenizer_, config_, Labelled::no);
  ASSERT_EQ(split.sentences.size(), 2u);
  EXPECT_EQ(split.sentences[0].tokens, (std::vector<std::string>{"Ann", "saw"}));
  EXPECT_TRUE(split.sentences[0].tags.empty());
  EXPECT_EQ(refusal("Ann\nsaw\n", task, "train.txt"),
            (directory_ / "train.txt").string() + ":1: 1 columns, expected 2");
}

TEST_F(TaskSplitTest, AnAnswerThatStandsNowhereIsScoredButNotLearnt) {
  const std::string text = R"({"data": [{"paragraphs": [{"context": "ab cd", "qas": [
      {"id": "1", "question": "q", "is_impossible": false, "answers": [{"text": "xyz", "answer_start": 0}]},
      {"id": "2", "question": "q", "is_impossible": true, "answers": []},
      {"id": "3", "question": "q", "is_impossible": false, "answers": [{"text": "cd", "answer_start": 3}]}]}]}]})";
  const TaskSplit split =
      read_split(write("dev.json", text), {.kind = TaskKind::spans}, tokenizer_, config_, Labelled::yes);
  const QuestionSet& set = split.questions;
  EXPECT_EQ(set.lost, 1u);
  EXPECT_EQ(split.samples.size(), 3u);
  EXPECT_EQ(set.questions[0].answers[0].text, "xyz");
  EXPECT_FALSE(set.can_be_learnt(set.questions[0]));
  EXPECT_TRUE(set.can_be_learnt(set.questions[1]));
  EXPECT_TRUE(set.can_be_learnt(set.questions[2]));
}

TEST_F(TaskSplitTest, ATagThatIsNoneOfTheTasksIsNamedByLine) {
  const LabelledTask task{.kind = TaskKind::tags, .labels = {"O", "B-PER"}};
  EXPECT_EQ(refusal("Ann B-PER\nsaw O\nRome B-LOC\n", task, "train.txt"),
            (directory_ / "train.txt").string() + ":3: the tag B-LOC does not occur in the training file");
}

TEST_F(TaskSplitTest, ATaskWhoseFileCouldNotBeReadIsRefused) {
  LabelledTask task;
  const auto fill = [&](std::size_t count) {
    while (task.labels.size() < count) {
      task.labels.push_back(std::string(190, 'x') + std::to_string(task.labels.size()));
    }
    task.validate("train.tsv");
  };
  EXPECT_NO_THROW(fill(5000));
  EXPECT_TRUE(user_error_of([&] { fill(6000); }).starts_with("train.tsv: the labels have more bytes"));
}

TEST_F(TaskSplitTest, ATaskIsFoundByNameOrFile) {
  EXPECT_EQ(find_task("SST-2").labels, (std::vector<std::string>{"0", "1"}));
  for (const std::string& name : built_in_tasks()) EXPECT_NO_THROW(find_task(name).validate(name));
  EXPECT_TRUE(error_and_remedy_of([] { find_task("stt2"); }).ends_with(" | did you mean sst2?"));
  const std::string file = write("mine.toml", "kind = \"regression\"\ntext = [\"a\", \"b\"]\nlabel = \"n\"\n");
  EXPECT_EQ(find_task(file).text.size(), 2u);
  EXPECT_THROW(find_task(write("bad.toml", "metrics = [\"bleu\"]\n")), UserError);
  EXPECT_THROW(find_task(write("bad.toml", "lable = \"x\"\n")), UserError);
}

TEST_F(TaskSplitTest, FilesHaveAlternatives) {
  write("dev.tsv", "x");
  EXPECT_EQ(find_file(directory_.path(), "dev_matched.tsv|dev.tsv"), directory_ / "dev.tsv");
  EXPECT_EQ(find_file(directory_.path(), "dev_mismatched.tsv|"), std::nullopt);
  EXPECT_THROW(find_file(directory_.path(), "train.tsv|training.tsv"), UserError);
}

}  // namespace
}  // namespace attend
