import { VAULTED, type Vars } from './ansible-hosts.js';
import { type ImportItem, type ImportBudget, ImportRefusal } from './import-result.js';
import { InventoryGraph } from './inventory-graph.js';
import { truncate } from '../../platform/text/truncate.js';
import { pointerStep } from '../../platform/json/json-pointer.js';
import { readJson } from '../../platform/json/strict-json.js';

const MAX_DEPTH = 100;

/** Tagged is a value with an Ansible tag, such as `!vault`. */
export class Tagged {
  constructor(readonly tag: string) {}
}

/**
 * readAnsibleTree reads `{group: {hosts, children, vars}}`, as in a YAML inventory and the output of `ansible-inventory --list`. The members of a group are a
 * mapping or a list. `_meta` contains host variables. Each group in the document is visited once per name. Throws ImportRefusal for any other structure.
 */
export function readAnsibleTree(document: unknown, budget: ImportBudget, format: string): ImportItem[] {
  if (!isMap(document))
    throw new ImportRefusal('host-import.format', `is not valid ${format}: the document is not a mapping of groups`);
  const walk = new TreeWalk(new InventoryGraph(budget));
  for (const [name, group] of Object.entries(document)) {
    const at = { pointer: `/${escaped(name)}`, depth: 1 };
    if (name === '_meta') walk.variables(group, at.pointer);
    else walk.group(name, group, at);
  }
  return walk.graph.items();
}

/** Reads the JSON of `ansible-inventory --list` and of dynamic inventory scripts. Throws ImportRefusal. */
export function readAnsibleJson(text: string, budget: ImportBudget): ImportItem[] {
  return readAnsibleTree(jsonOf(text), budget, 'ansible-json');
}

function jsonOf(text: string): unknown {
  try {
    return readJson(text, { roundsNumbers: true });
  } catch (error) {
    throw new ImportRefusal('host-import.format', `is not valid ansible-json: ${(error as Error).message}`);
  }
}

interface At {
  readonly pointer: string;
  readonly depth: number;
}

class TreeWalk {
  /** Group names under which each node was visited. A node can have several names, because YAML aliases refer to the same node. */
  private readonly walked = new Map<object, Set<string>>();

  constructor(readonly graph: InventoryGraph) {}

  group(name: string, group: unknown, { pointer, depth }: At): void {
    this.graph.budget.spend();
    if (depth > MAX_DEPTH) throw new ImportRefusal('host-import.too-large', 'nests groups too deeply');
    this.graph.group(name);
    if (Array.isArray(group)) return this.hosts(name, group, pointer);
    if (!isMap(group)) {
      if (group !== '' && group !== null && group !== undefined)
        this.graph.refuse(pointer, name, 'must be a group with hosts, children or vars');
      return;
    }
    if (this.isWalked(name, group)) return;
    this.graph.group(name, textsOf(group['vars']));
    this.hosts(name, group['hosts'], `${pointer}/hosts`);
    for (const [child, inner] of entriesOf(group['children'])) {
      this.graph.child(name, child);
      this.group(child, inner, { pointer: `${pointer}/children/${escaped(child)}`, depth: depth + 1 });
    }
  }

  /** Reads `_meta: {hostvars: {HOST: {…}}}`, the variables of hosts that are also members of groups. */
  variables(meta: unknown, pointer: string): void {
    const hostvars = isMap(meta) ? meta['hostvars'] : undefined;
    for (const [host, vars] of entriesOf(hostvars))
      this.graph.members(undefined, host, { pointer: `${pointer}/hostvars/${escaped(host)}`, vars: textsOf(vars) });
  }

  private hosts(group: string, hosts: unknown, pointer: string): void {
    for (const [host, vars] of entriesOf(hosts))
      this.graph.members(group, host, { pointer: `${pointer}/${escaped(host)}`, vars: textsOf(vars) });
  }

  private isWalked(name: string, node: object): boolean {
    const names = this.walked.get(node) ?? new Set();
    this.walked.set(node, names);
    const isKnown = names.has(name);
    names.add(name);
    return isKnown;
  }
}

/** Returns the members of a group, given as a mapping, a list of names, or a single name. */
function entriesOf(value: unknown): (readonly [string, unknown])[] {
  if (isMap(value)) return Object.entries(value);
  const names = Array.isArray(value) ? (value as unknown[]) : [value];
  return names
    .filter((name): name is string => typeof name === 'string' && name !== '')
    .map((name) => [name, undefined]);
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Tagged);
}

function textsOf(value: unknown): Vars {
  if (!isMap(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, textOf(one)]));
}

function textOf(value: unknown): string {
  if (value instanceof Tagged) return value.tag.startsWith('!vault') ? VAULTED : '';
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

function escaped(name: string): string {
  return truncate(pointerStep(name), 200);
}
