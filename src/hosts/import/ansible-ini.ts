import type { ImportItem, ImportBudget } from './import-result.js';
import { InventoryGraph } from './inventory-graph.js';
import { truncate } from '../../platform/text/truncate.js';

/** Reads an Ansible inventory in INI format: groups, `:children`, `:vars`, ranges, and ports after a colon. */
export function readAnsibleIni(text: string, budget: ImportBudget): ImportItem[] {
  const reading = new IniReading(new InventoryGraph(budget));
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line !== '' && !/^[#;]/.test(line)) reading.line(line, { number: index + 1, indent: raw.indexOf(line) });
  }
  return reading.graph.items();
}

interface At {
  /** Line number, starting at 1. */
  readonly number: number;
  /** Number of spaces before the text. */
  readonly indent: number;
}

interface Word {
  readonly text: string;
  /** Column in the line without indentation, starting at 0. */
  readonly column: number;
}

class IniReading {
  private section = 'ungrouped';
  private kind = '';

  constructor(readonly graph: InventoryGraph) {}

  line(line: string, at: At): void {
    const pointer = `line ${at.number}`;
    const head = /^\[([^\]:]{1,200})(?::(children|vars))?\]\s*(?:[#;].*)?$/.exec(line);
    if (head !== null) {
      [this.section, this.kind] = [head[1] ?? '', head[2] ?? ''];
      this.graph.group(this.section);
    } else if (this.kind === 'vars') this.variable(line, at);
    else if (this.kind === 'children') this.graph.child(this.section, line.split(/\s/, 1)[0] ?? '');
    else if (isSection(line)) this.graph.refuse(pointer, truncate(line, 60), 'is not an inventory section');
    else this.host(line, at);
  }

  private variable(line: string, { number }: At): void {
    const at = line.indexOf('=');
    if (at < 1)
      this.graph.refuse(
        `line ${number}`,
        truncate(line, 60),
        'must be NAME=VALUE, because the section contains variables',
      );
    else this.graph.group(this.section, { [line.slice(0, at).trim()]: unquoted(line.slice(at + 1).trim()) });
  }

  private host(line: string, { number, indent }: At): void {
    const pointer = `line ${number}`;
    const words = wordsOf(line);
    const [pattern, ...rest] = words.all;
    const stray = rest.find(({ text }) => text.indexOf('=') < 1);
    const fault =
      words.open === undefined
        ? stray && { column: stray.column, detail: `${truncate(stray.text, 40)} must be NAME=VALUE` }
        : { column: words.open, detail: 'contains an unclosed quote' };
    if (fault !== undefined || pattern === undefined) {
      const detail = `column ${(fault?.column ?? 0) + indent + 1}: ${fault?.detail ?? 'host name is missing'}`;
      return this.graph.refuse(pointer, pattern?.text ?? line, detail);
    }
    const vars = Object.fromEntries(
      rest.map(({ text }) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]),
    );
    this.graph.members(this.section, pattern.text, { pointer, vars });
  }
}

/** Reports whether a line is a section header. A host can also begin with a bracket: a range (`[a:c].example.com`) or an address (`[2001:db8::1]:22`). */
function isSection(line: string): boolean {
  return line.startsWith('[') && (line.endsWith(']') || !line.includes(']')) && !/^\[[0-9a-f:]+\]$/i.test(line);
}

/** Splits a line into words like a shell, up to a comment. `open` is the position of an unclosed quote, if any. */
function wordsOf(line: string): { all: Word[]; open?: number } {
  const all: Word[] = [];
  for (let at = 0; at < line.length;) {
    if (/\s/.test(line[at] as string)) at += 1;
    else if (line[at] === '#') return { all };
    else {
      const { text, end, open } = wordAt(line, at);
      if (open !== undefined) return { all, open };
      all.push({ text, column: at });
      at = end;
    }
  }
  return { all };
}

function wordAt(line: string, start: number): { text: string; end: number; open?: number } {
  let text = '';
  let at = start;
  for (; at < line.length && !/\s/.test(line[at] as string); at += 1) {
    const one = line[at] as string;
    if (one !== '"' && one !== "'") {
      text += one;
      continue;
    }
    const close = line.indexOf(one, at + 1);
    if (close === -1) return { text, end: line.length, open: at };
    text += line.slice(at + 1, close);
    at = close;
  }
  return { text, end: at };
}

function unquoted(text: string): string {
  const [first = ''] = text;
  return text.length > 1 && (first === '"' || first === "'") && text.endsWith(first) ? text.slice(1, -1) : text;
}
