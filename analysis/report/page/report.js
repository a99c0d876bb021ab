// The sentences of a page: texts and attention, inflated from the data that sentence_data.cpp packed. People see
// sentences numbered from 1, like the lines of a file, and layers and heads from 0, as everywhere in attend.
'use strict';
(async () => {
  const by_id = (id) => document.getElementById(id);
  if (!by_id('viewer')) return;
  if (typeof DecompressionStream === 'undefined') {
    by_id('static').firstElementChild.textContent =
        'This browser cannot inflate the sentences of the page, since it lacks DecompressionStream; a newer one shows them all.';
    return;
  }

  const decoded = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const inflated = async (bytes) => new Uint8Array(
      await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))).arrayBuffer());

  const data = JSON.parse(new TextDecoder().decode(await inflated(decoded(by_id('sentence-texts').textContent))));
  const streams = decoded(by_id('sentence-weights').textContent);
  const {views, metrics, sentences} = data;
  const systems = data.systems.map((system) => system.name);
  const state = {
    found: [],   // numbers of sentences, from 0, in the order shown
    current: 0,  // number of the sentence
    here: null,  // row and column under the pointer or the keyboard
    panels: [],  // system, layer and head (-1: mean) of each
    words: false,
    shown: [],  // the matrix in each panel
  };

  // ---- elements

  const svg_space = 'http://www.w3.org/2000/svg';
  function filled(made, attributes, inside) {
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  }
  const element = (name, attributes = {}, ...inside) => filled(document.createElement(name), attributes, inside);
  const drawn = (name, attributes = {}, ...inside) =>
      filled(document.createElementNS(svg_space, name), attributes, inside);
  function chooser(label, values, chosen, change) {
    const select = element('select', {dir: 'auto'});
    for (const [value, name] of values) select.append(new Option(name, value, false, value === chosen));
    select.addEventListener('change', () => change(Number(select.value)));
    return element('label', {}, label + ' ', select);
  }
  function table(caption, heads, rows, places = []) {
    const line = (cells, name) => element(
        'tr', {},
        ...cells.map(
            (cell, c) => element(
                c === 0 ? 'th' : name, typeof cell === 'number' ? {class: 'number'} : {dir: 'auto'},
                typeof cell === 'number' ? decimals(cell, places[c]) : cell ?? '–')));
    return element(
        'table', {}, element('caption', {dir: 'auto'}, caption), element('thead', {}, line(heads, 'th')),
        element('tbody', {}, ...rows.map((row) => line(row, 'td'))));
  }
  const decimals = (value, places = 1) => value.toFixed(places).replace('-', '−');
  const numbers_to = (count) => [...Array(count).keys()];
  const on = (id, event, act) => by_id(id).addEventListener(event, act);

  // ---- matrices

  // For each piece, true if it begins a word: with ▁ (SentencePiece), or without ## (WordPiece). Special pieces such as
  // </s> and [CLS] stand alone.
  function beginnings(pieces) {
    const special = (piece) => /^(<.*>|\[[A-Z]+\])$/.test(piece);
    const marked = pieces.some((piece) => piece.startsWith('▁'));
    return pieces.map(
        (piece, i) => i === 0 || special(piece) || special(pieces[i - 1]) ||
            (marked ? piece.startsWith('▁') : !piece.startsWith('##')));
  }
  function words_of(pieces) {
    const begins = beginnings(pieces), words = [], number = [];
    pieces.forEach((piece, i) => {
      if (begins[i]) words.push('');
      words[words.length - 1] += piece.replace(/^(▁|##)/, '');
      number.push(words.length - 1);
    });
    return {words, number};
  }

  // The weights of a word's source pieces are added, those of its target pieces averaged, so that rows still sum to 1.
  function merged(matrix) {
    const source = words_of(matrix.source), target = words_of(matrix.target);
    const sizes = target.words.map((_, w) => target.number.filter((n) => n === w).length);
    const rows = target.words.map(() => new Array(source.words.length).fill(0));
    matrix.rows.forEach((row, t) => row.forEach((weight, s) => {
      rows[target.number[t]][source.number[s]] += weight / sizes[target.number[t]];
    }));
    return {source: source.words, target: target.words, rows};
  }

  // The weights of one head, or of the mean of all heads (-1) of a layer.
  function matrix_of(map, layer, head) {
    const {source, target, heads, weights} = map;
    const size = source.length * target.length;
    const chosen = head < 0 ? numbers_to(heads) : [head];
    const rows = target.map(
        (_, t) => source.map(
            (_, s) => chosen.reduce((sum, h) => sum + weights[(layer * heads + h) * size + t * source.length + s], 0) /
                chosen.length / 255));
    const matrix = {source, target, rows};
    return state.words ? merged(matrix) : matrix;
  }

  let loaded = {sentence: -1, maps: []};
  async function maps_of(number) {
    if (loaded.sentence === number) return loaded.maps;
    const sentence = sentences[number];
    if (!sentence.at) return [];
    const [offset, length] = sentence.at;
    const bytes = await inflated(streams.subarray(offset, offset + length));
    let end = 0;
    const maps = sentence.maps.map((map) => {
      const source = sentence.pieces[map.source], target = sentence.pieces[map.target];
      const begin = end;
      end += map.layers * map.heads * source.length * target.length;
      return {...map, source, target, weights: bytes.subarray(begin, end)};
    });
    loaded = {sentence: number, maps};
    return maps;
  }

  // ---- a panel: a head, or all of them

  // Small weights would be invisible: the shade is the square root of the weight.
  const shade = (weight) => Math.sqrt(Math.min(1, weight));
  const cell = 20;

  function head_view(matrix, panel) {
    const {source, target, rows} = matrix;
    const width_of = (texts) => Math.min(130, 10 + 8 * Math.max(...texts.map((text) => [...text].length)));
    const left = width_of(target), top = width_of(source) + 4;
    const shown = (text) => ([...text].length > 15 ? [...text].slice(0, 14).join('') + '…' : text);
    const width = left + cell * source.length + 60, height = top + cell * target.length + 4;
    const picture = drawn('svg', {
      class: 'weights',
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      tabindex: 0,
      role: 'img',
      'aria-label': `Attention of ${systems[panel.system]}; the arrow keys go from cell to cell`,
    });
    source.forEach(
        (text, s) => picture.append(drawn(
            'text', {transform: `translate(${left + cell * (s + 0.65)} ${top - 6}) rotate(-60)`, 'data-column': s},
            shown(text))));
    target.forEach(
        (text, t) => picture.append(
            drawn('text', {x: left - 6, y: top + cell * (t + 0.7), 'text-anchor': 'end', 'data-row': t}, shown(text))));
    rows.forEach((row, t) => row.forEach((weight, s) => {
      if (weight < 1 / 510) return;
      const place = {x: left + cell * s, y: top + cell * t, width: cell - 1, height: cell - 1};
      picture.append(drawn('rect', {class: 'cell', ...place, 'fill-opacity': shade(weight).toFixed(3)}));
    }));
    picture.append(drawn(
        'rect',
        {class: 'frame', x: left - 0.5, y: top - 0.5, width: cell * source.length, height: cell * target.length}));
    picture.append(drawn('rect', {class: 'here', width: cell, height: cell, visibility: 'hidden'}));
    picture.layout = {left, top};

    const go_to = (t, s) => {
      state.here = {row: t, column: s, panel: panel.number};
      show_here();
    };
    picture.addEventListener('pointermove', (event) => {
      const box = picture.getBoundingClientRect();
      const s = Math.floor((event.clientX - box.left - left) / cell),
            t = Math.floor((event.clientY - box.top - top) / cell);
      if (s >= 0 && t >= 0 && s < source.length && t < target.length) go_to(t, s);
    });
    picture.addEventListener('focus', () => {
      if (state.here?.panel !== panel.number) go_to(0, 0);
    });
    picture.addEventListener('keydown', (event) => {
      const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      const from = state.here ?? {row: 0, column: 0};
      const within = (place, count) => Math.max(0, Math.min(count - 1, place));
      go_to(within(from.row + step[0], target.length), within(from.column + step[1], source.length));
    });
    return picture;
  }

  const same = (a, b) => a.length === b.length && a.every((text, i) => text === b[i]);

  // Marks the cell under the pointer, in the other panel as well where its axes are the same.
  function show_here() {
    const at = state.here;
    const origin = at && state.shown[at.panel];
    state.shown.forEach((matrix, p) => {
      if (!matrix?.picture) return;
      const {picture, readout} = matrix;
      const here = picture.querySelector('.here');
      for (const text of picture.querySelectorAll('.named')) text.classList.remove('named');
      const is_shown = origin && at.row < matrix.target.length && at.column < matrix.source.length &&
          (p === at.panel || (same(matrix.source, origin.source) && same(matrix.target, origin.target)));
      here.setAttribute('visibility', is_shown ? 'visible' : 'hidden');
      if (!is_shown) {
        readout.textContent = 'Point at a cell, or focus the picture and use the arrow keys.';
        return;
      }
      here.setAttribute('x', picture.layout.left + cell * at.column - 0.5);
      here.setAttribute('y', picture.layout.top + cell * at.row - 0.5);
      picture.querySelector(`[data-column="${at.column}"]`).classList.add('named');
      picture.querySelector(`[data-row="${at.row}"]`).classList.add('named');
      readout.replaceChildren(
          element('bdi', {}, matrix.target[at.row]), ' attends to ', element('bdi', {}, matrix.source[at.column]),
          ` with ${matrix.rows[at.row][at.column].toFixed(3)}`);
    });
  }

  // All layers and heads at a glance; each opens the head view.
  function model_view(map, panel) {
    const colour = getComputedStyle(document.documentElement).getPropertyValue('--heat').trim();
    const [red, green, blue] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
    const grid = element('div', {class: 'small-maps', style: `grid-template-columns: repeat(${map.heads + 1}, auto)`});
    grid.append(element('span', {}, 'Layer'), ...numbers_to(map.heads).map((h) => element('span', {}, `Head ${h}`)));
    for (let layer = 0; layer < map.layers; ++layer) {
      grid.append(element('span', {}, String(layer)));
      for (let head = 0; head < map.heads; ++head) {
        const {source, target, rows} = matrix_of(map, layer, head);
        const canvas = element('canvas', {width: source.length, height: target.length});
        const image = new ImageData(source.length, target.length);
        rows.flat().forEach((weight, i) => image.data.set([red, green, blue, Math.round(255 * shade(weight))], 4 * i));
        canvas.getContext('2d').putImageData(image, 0, 0);
        const name = `Layer ${layer}, head ${head}`;
        const button = element('button', {type: 'button', title: name, 'aria-label': name}, canvas);
        button.addEventListener('click', () => {
          by_id('scale').value = 'head';
          show_at(panel, {layer, head});
        });
        grid.append(button);
      }
    }
    return grid;
  }

  function open_at(panel, system) {
    const {layer, head} = data.systems[system];
    return Object.assign(panel, {system, layer, head});
  }
  function show_at(panel, place) {
    Object.assign(panel, place);
    show();
  }

  function fill_panel(panel, maps) {
    const controls = element('div', {class: 'controls'});
    const box = element('div', {class: 'panel'}, controls);
    if (systems.length > 1) {
      controls.append(chooser('System', systems.map((name, s) => [s, name]), panel.system, (s) => {
        open_at(panel, s);
        list_sentences();
        show();
      }));
    }
    state.shown[panel.number] = undefined;
    const map = maps.find((it) => it.system === panel.system && it.view === Number(by_id('view').value));
    if (!map) {
      box.append(element(
          'p', {},
          sentences[state.current].at ? 'This system has no such attention for this sentence.' :
                                        'The attention of this sentence is not in the page.'));
      return box;
    }
    panel.layer = Math.min(panel.layer, map.layers - 1);
    panel.head = Math.min(panel.head, map.heads - 1);
    if (by_id('scale').value === 'all') {
      box.append(element('div', {class: 'scroll'}, model_view(map, panel)));
      return box;
    }
    controls.append(
        chooser(
            'Layer', numbers_to(map.layers).map((l) => [l, String(l)]), panel.layer,
            (layer) => show_at(panel, {layer})),
        chooser(
            'Head', [[-1, 'Mean'], ...numbers_to(map.heads).map((h) => [h, String(h)])],
            map.heads === 1 ? 0 : panel.head, (head) => show_at(panel, {head})));
    const matrix = matrix_of(map, panel.layer, panel.head);
    const picture = head_view(matrix, panel);
    const readout = element('p', {class: 'readout', 'aria-live': 'polite', dir: 'auto'});
    const numbers = element('details', {}, element('summary', {}, 'The numbers as a table'));
    numbers.addEventListener('toggle', () => {
      if (!numbers.open || numbers.children.length > 1) return;
      const heads = panel.head < 0 ? 'mean of the heads' : `head ${panel.head}`;
      const caption = `Attention of ${systems[panel.system]}, layer ${panel.layer}, ${heads}`;
      const rows = matrix.target.map((text, t) => [text, ...matrix.rows[t].map((weight) => weight.toFixed(3))]);
      numbers.append(element(
          'div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Attention weights'},
          table(caption, ['', ...matrix.source], rows)));
    });
    box.append(element('div', {class: 'scroll'}, picture), readout, numbers);
    state.shown[panel.number] = {...matrix, picture, readout};
    return box;
  }

  // ---- the sentence

  let asked = 0;
  async function show() {
    const number = state.current, sentence = sentences[number], ticket = ++asked;
    const place = state.found.indexOf(number);
    by_id('position').textContent =
        `Sentence ${number + 1}` + (place < 0 ? '' : `, ${place + 1} of ${state.found.length}`);
    by_id('list').selectedIndex = place;
    by_id('previous').disabled = place <= 0;
    by_id('next').disabled = place < 0 || place + 1 >= state.found.length;

    const scored = metrics.length > 0;
    const heads = scored ? [...metrics.map((metric) => metric.name), 'Log-probability'] : [];
    const no_scores = heads.map(() => '');
    const rows = [
      ['Source', sentence.source, ...no_scores],
      ...(sentence.reference ? [['Reference', sentence.reference, ...no_scores]] : []),
      ...sentence.outputs.map(
          (output,
           s) => [scored ? systems[s] : 'Target', output.text, ...(scored ? [...output.scores, output.log_prob] : [])])
    ];
    by_id('texts').replaceChildren(table(
        `Sentence ${number + 1}`, ['', 'Text', ...heads], rows, [1, 1, ...metrics.map((metric) => metric.decimals)]));

    const maps = await maps_of(number);
    if (ticket !== asked) return;  // another sentence was chosen meanwhile
    by_id('panels').replaceChildren(...state.panels.map((panel) => fill_panel(panel, maps)));
    const [a, b] = state.shown;
    by_id('message').textContent = a && b && !same(a.source, b.source) && !state.words ?
        'These systems split the source into different pieces; merge them into words for shared axes.' :
        '';
    if (state.here && !state.shown[state.here.panel]) state.here = null;
    show_here();
  }

  function choose(number) {
    state.current = number;
    history.replaceState(null, '', `#s=${number + 1}`);
    show();
  }
  function step(by) {
    const place = state.found.indexOf(state.current) + by;
    if (place >= 0 && place < state.found.length) choose(state.found[place]);
  }

  // ---- the list: searched and ordered

  const first_and_second = () => state.panels.map((panel) => panel.system);
  function difference(sentence) {
    const [a, b] = first_and_second();
    return (sentence.outputs[b]?.scores[0] ?? 0) - (sentence.outputs[a]?.scores[0] ?? 0);
  }
  const beginning = (text) => (text.length > 120 ? text.slice(0, 120).replace(/\s+\S*$/, '') + ' …' : text);
  function list_sentences() {
    const wanted = by_id('search').value.trim().toLowerCase();
    const order = by_id('order').value;
    const text_of =
        (it) => [it.source, it.reference, ...it.outputs.map((output) => output.text)].join('\n').toLowerCase();
    state.found = [...sentences.keys()].filter((n) => !wanted || text_of(sentences[n]).includes(wanted));
    const upwards = metrics[0]?.lower_is_better ? -1 : 1;
    const key = {
      better: (n) => -upwards * difference(sentences[n]),
      worse: (n) => upwards * difference(sentences[n]),
      short: (n) => sentences[n].source.length,
      long: (n) => -sentences[n].source.length
    }[order];
    if (key) state.found.sort((m, n) => key(m) - key(n) || m - n);
    const is_difference = order === 'better' || order === 'worse';
    by_id('list').replaceChildren(...state.found.map((n) => {
      const by = difference(sentences[n]);
      const gain = is_difference ? `${by > 0 ? '+' : ''}${by.toFixed(1)} ${metrics[0].name}: ` : '';
      return element('option', {value: n, dir: 'auto'}, `${n + 1}: ${gain}${beginning(sentences[n].source)}`);
    }));
    const [a, b] = first_and_second();
    for (const option of by_id('order').options) {
      if (option.value === 'better') option.textContent = `${systems[b]} better than ${systems[a]}`;
      if (option.value === 'worse') option.textContent = `${systems[a]} better than ${systems[b]}`;
    }
  }
  function search_again() {
    list_sentences();
    if (state.found.length === 0)
      by_id('position').textContent = 'No sentence contains this text.';
    else if (!state.found.includes(state.current))
      choose(state.found[0]);
    else
      show();
  }

  function go_to_hash() {
    const number = Number(/^#s=(\d+)$/.exec(location.hash)?.[1]) - 1;
    if (!sentences[number]) return false;
    if (!state.found.includes(number)) {
      by_id('search').value = '';
      list_sentences();
    }
    state.current = number;
    show();
    by_id('sentences').scrollIntoView();
    return true;
  }

  // ---- start

  // The first two systems that have attention, side by side; one alone otherwise.
  const with_maps = [...new Set(sentences.flatMap((sentence) => (sentence.maps ?? []).map((map) => map.system)))].sort(
      (a, b) => a - b);
  const begin = [...new Set([...with_maps, ...systems.keys()])].slice(0, 2);
  state.panels = begin.map((system, number) => open_at({number}, system));
  for (const [value, name] of [
           ['original', 'As in the test set'], ['short', 'Shortest first'], ['long', 'Longest first'],
           ...(systems.length > 1 && metrics.length > 0 ? [['better', ''], ['worse', '']] : [])])
    by_id('order').append(new Option(name, value));
  views.forEach((name, v) => by_id('view').append(new Option(name, v)));
  by_id('view').parentElement.hidden = views.length === 1;
  for (const id of ['search', 'order', 'list']) by_id(id).parentElement.hidden = sentences.length === 1;
  for (const id of ['attention-controls', 'panels']) by_id(id).hidden = with_maps.length === 0;

  on('search', 'input', search_again);
  on('order', 'change', () => {
    list_sentences();
    choose(state.found[0] ?? state.current);
  });
  on('list', 'change', () => choose(Number(by_id('list').value)));
  on('previous', 'click', () => step(-1));
  on('next', 'click', () => step(1));
  for (const id of ['view', 'scale']) on(id, 'change', show);
  on('words', 'change', () => {
    state.words = by_id('words').checked;
    state.here = null;
    show();
  });
  document.addEventListener('keydown', (event) => {
    if (event.target.closest('input, select, textarea, .scroll') || event.altKey || event.ctrlKey || event.metaKey)
      return;
    if (event.key === 'ArrowLeft') step(-1);
    if (event.key === 'ArrowRight') step(1);
  });
  window.addEventListener('hashchange', go_to_hash);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show);

  by_id('static').hidden = true;
  by_id('viewer').hidden = false;
  list_sentences();
  if (!go_to_hash()) show();
})();
