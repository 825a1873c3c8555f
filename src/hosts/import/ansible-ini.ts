import { itemOf, type Vars } from './ansible-hosts.js';
import { badItem, type ImportItem } from './import-item.js';
import { truncate } from '../../platform/text/truncate.js';

const MOST_OF_A_RANGE = 5000;

interface Group {
  readonly hosts: Set<string>;
  readonly children: Set<string>;
  readonly vars: Record<string, string>;
}

/** Reads an Ansible inventory in INI form: groups, `:children`, `:vars`, and ranges like `web[01:20].example.com`. */
export function readAnsibleIni(text: string): ImportItem[] {
  const reading = new IniReading();
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line !== '' && !/^[#;]/.test(line)) reading.line(line, `line ${index + 1}`);
  }
  return reading.items();
}

class IniReading {
  private readonly groups = new Map<string, Group>();
  private readonly hosts = new Map<string, { pointer: string; vars: Record<string, string> }>();
  private readonly bad: ImportItem[] = [];
  private section = 'ungrouped';
  private kind = '';

  line(line: string, pointer: string): void {
    const head = /^\[([^\]:]+)(?::(children|vars))?\]\s*([#;].*)?$/.exec(line);
    if (head !== null) [this.section, this.kind] = [head[1] ?? '', head[2] ?? ''];
    else if (line.startsWith('[')) this.bad.push(badItem(pointer, truncate(line, 60), 'is no section of an inventory'));
    else if (this.kind === 'children') this.group().children.add(line.split(/\s/)[0] ?? '');
    else if (this.kind === 'vars') Object.assign(this.group().vars, varsOf([line]));
    else this.host(wordsOf(line), pointer);
  }

  items(): ImportItem[] {
    const hosts = [...this.hosts].map(([name, host]) =>
      itemOf(name, { ...host, ...inherited(this.groups, name, host.vars) }),
    );
    return [...this.bad, ...hosts];
  }

  private host([pattern = '', ...words]: string[], pointer: string): void {
    const names = expanded(pattern);
    if (names === undefined)
      this.bad.push(
        badItem(pointer, truncate(pattern, 60), `is a range of more than ${MOST_OF_A_RANGE} hosts, or none`),
      );
    for (const name of names ?? []) {
      this.group().hosts.add(name);
      const known = this.hosts.get(name) ?? { pointer, vars: {} };
      this.hosts.set(name, { ...known, vars: { ...known.vars, ...varsOf(words) } });
    }
  }

  private group(): Group {
    const group = this.groups.get(this.section) ?? { hosts: new Set(), children: new Set(), vars: {} };
    this.groups.set(this.section, group);
    return group;
  }
}

/** Groups that a host is in, also through others, and their variables: nearer groups and then the host's own win. */
function inherited(groups: ReadonlyMap<string, Group>, host: string, own: Vars): { groups: string[]; vars: Vars } {
  let found = [...groups].filter(([, group]) => group.hosts.has(host)).map(([name]) => name);
  const all: string[] = [];
  while (found.length > 0) {
    all.push(...found);
    const parents = [...groups].filter(
      ([name, group]) => !all.includes(name) && found.some((child) => group.children.has(child)),
    );
    found = parents.map(([name]) => name);
  }
  const vars = ['all', ...all.toReversed()].map((name) => groups.get(name)?.vars ?? {});
  return { groups: all, vars: Object.assign({}, ...vars, own) as Vars };
}

/** Words of a line as a shell would part them, up to a comment. */
function wordsOf(line: string): string[] {
  const words = [...line.matchAll(/(?:[^\s"'#]|"[^"]*"|'[^']*'|(?<=\S)#)+|#.*/g)].map(([word]) => word);
  const comment = words.findIndex((word) => word.startsWith('#'));
  return (comment === -1 ? words : words.slice(0, comment)).map((word) =>
    word.replaceAll(/"([^"]*)"|'([^']*)'/g, '$1$2'),
  );
}

function varsOf(words: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    words.flatMap((word) => {
      const at = word.indexOf('=');
      return at < 1
        ? []
        : [
            [
              word.slice(0, at).trim(),
              word
                .slice(at + 1)
                .trim()
                .replace(/^(["'])(.*)\1$/, '$2'),
            ],
          ];
    }),
  );
}

/** `web[01:20]` and `db[a:f]`, several of them in one name too; undefined for what is none. */
function expanded(pattern: string): string[] | undefined {
  const [, before, from = '', to = '', step = '1', after = ''] =
    /^([^[]*)\[([0-9]+|[a-z]):([0-9]+|[a-z])(?::([0-9]+))?\](.*)$/i.exec(pattern) ?? [];
  if (before === undefined) return pattern.includes('[') ? undefined : [pattern];
  const isNumber = /\d/.test(from);
  const [first, last] = isNumber ? [Number(from), Number(to)] : [from.charCodeAt(0), to.charCodeAt(0)];
  const rest = expanded(after);
  const size = Math.floor((last - first) / Number(step)) + 1;
  if (rest === undefined || !(size > 0) || size * rest.length > MOST_OF_A_RANGE || Number(step) < 1) return undefined;
  return Array.from({ length: size }, (_, i) => first + i * Number(step)).flatMap((at) =>
    rest.map((tail) => `${before}${isNumber ? String(at).padStart(from.length, '0') : String.fromCharCode(at)}${tail}`),
  );
}
