import { FAILSAFE_SCHEMA, load } from 'js-yaml';
import { itemOf, type Vars } from './ansible-hosts.js';
import { badItem, type ImportItem } from './import-item.js';
import { truncate } from '../../platform/text/truncate.js';

const MOST_DEPTH = 20;
const MOST_HOSTS = 5001;

interface Seen {
  readonly pointer: string;
  readonly groups: string[];
  vars: Vars;
}

/** Reads an Ansible inventory in YAML: `group: {hosts, children, vars}`. Undefined when it is no YAML, or not of that form. */
export function readAnsibleYaml(text: string): ImportItem[] | undefined {
  let document: unknown;
  try {
    // What the vault holds stays what it is: a secret, which is not taken.
    document = load(text.replaceAll(/!(?:vault|unsafe)(?=[\s|>])/g, ''), { schema: FAILSAFE_SCHEMA });
  } catch {
    return undefined;
  }
  if (!isMap(document)) return undefined;
  const hosts = new Map<string, Seen>();
  const bad: ImportItem[] = [];
  const walk = (name: string, group: unknown, at: { pointer: string; groups: string[]; vars: Vars }): void => {
    const { pointer, groups } = at;
    if (groups.length > MOST_DEPTH || hosts.size > MOST_HOSTS) return;
    if (!isMap(group)) {
      if (group !== '' && group !== null && group !== undefined)
        bad.push(badItem(pointer, name, 'must be a group with hosts, children or vars'));
      return;
    }
    const vars = { ...at.vars, ...textsOf(group['vars']) };
    const own = [...groups, name];
    if (isMap(group['hosts']))
      for (const [host, given] of Object.entries(group['hosts'])) {
        const known = hosts.get(host) ?? { pointer: `${pointer}/hosts/${escaped(host)}`, groups: [], vars: {} };
        known.groups.push(...own.filter((one) => !known.groups.includes(one)));
        known.vars = { ...vars, ...known.vars, ...textsOf(given) };
        hosts.set(host, known);
      }
    if (isMap(group['children']))
      for (const [child, inner] of Object.entries(group['children']))
        walk(child, inner, { pointer: `${pointer}/children/${escaped(child)}`, groups: own, vars });
  };
  for (const [name, group] of Object.entries(document))
    walk(name, group, { pointer: `/${escaped(name)}`, groups: [], vars: {} });
  return [...bad, ...[...hosts].map(([name, host]) => itemOf(name, host))];
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textsOf(value: unknown): Vars {
  if (!isMap(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([key, text]) => [key, typeof text === 'string' ? text : '']));
}

function escaped(name: string): string {
  return truncate(name.replaceAll('~', '~0').replaceAll('/', '~1'), 200);
}
