import { readHostPlace } from '../network/host-place.port.js';
import { itemOf, type Vars } from './ansible-hosts.js';
import { badItem, type ImportItem, type ImportBudget } from './import-result.js';
import { expandRanges } from './host-ranges.js';
import { truncate } from '../../platform/text/truncate.js';

interface Group {
  readonly parents: Set<string>;
  readonly vars: Record<string, string>;
}

interface Member {
  readonly pointer: string;
  readonly groups: Set<string>;
  readonly vars: Record<string, string>;
}

/** InventoryGraph is an Ansible inventory, independent of its file format. Entries with the same group name describe one group and are combined. */
export class InventoryGraph {
  private readonly groups = new Map<string, Group>();
  private readonly hosts = new Map<string, Member>();
  private readonly bad: ImportItem[] = [];

  constructor(readonly budget: ImportBudget) {}

  group(name: string, vars: Vars = {}): void {
    const group = this.groups.get(name) ?? { parents: new Set(), vars: {} };
    this.groups.set(name, group);
    this.add(group.vars, vars);
  }

  child(parent: string, name: string): void {
    this.budget.spend();
    if (!this.groups.has(name)) this.group(name);
    this.groups.get(name)?.parents.add(parent);
  }

  /**
   * Adds the hosts in a pattern: a name or address, optionally with ranges and a port. Without `group`, the variables apply to the hosts regardless of their
   * groups.
   */
  members(group: string | undefined, pattern: string, { pointer, vars }: { pointer: string; vars: Vars }): void {
    const names = expandRanges(pattern, this.budget);
    if (!Array.isArray(names)) {
      this.refuse(pointer, pattern, `column ${names.column + 1} of the name: ${names.detail}`);
      return;
    }
    for (const text of names) this.member(group, text, { pointer, vars });
  }

  refuse(pointer: string, name: string, detail: string): void {
    this.budget.spendHost();
    this.bad.push(badItem(pointer, truncate(name, 100), detail));
  }

  /** Returns the rejected items, then the hosts in file order. Throws ImportRefusal. */
  items(): ImportItem[] {
    const hosts = [...this.hosts].map(([name, { pointer, groups, vars }]) => {
      const all = this.withAncestors(groups);
      const inherited = ['all', ...all.toReversed()].map((group) => this.groups.get(group)?.vars ?? {});
      return itemOf(name, { pointer, groups: all, vars: this.merged([...inherited, vars]) });
    });
    return [...this.bad, ...hosts];
  }

  private member(group: string | undefined, text: string, { pointer, vars }: { pointer: string; vars: Vars }): void {
    const place = readHostPlace(text);
    if (place === undefined) return this.refuse(pointer, text, 'is not a host, or has no port after the colon');
    const name = text.includes(':') ? place.address : text;
    if (!this.hosts.has(name)) this.budget.spendHost();
    const known = this.hosts.get(name) ?? { pointer, groups: new Set<string>(), vars: {} };
    this.hosts.set(name, known);
    if (group !== undefined) known.groups.add(group);
    if (place.port !== undefined) known.vars['ansible_port'] = String(place.port);
    this.add(known.vars, vars);
  }

  /** Returns a host's groups and all ancestors of these groups, nearest first. */
  private withAncestors(groups: Iterable<string>): string[] {
    const found = new Set(groups);
    // Iterating over a Set includes elements that are added during the iteration.
    for (const name of found)
      for (const parent of this.groups.get(name)?.parents ?? []) {
        this.budget.spend();
        found.add(parent);
      }
    return [...found];
  }

  /** Merges variables. Later variables take precedence. */
  private merged(all: readonly Vars[]): Vars {
    const vars: Record<string, string> = {};
    for (const some of all) this.add(vars, some);
    return vars;
  }

  private add(to: Record<string, string>, vars: Vars): void {
    this.budget.spend(1 + Object.keys(vars).length);
    Object.assign(to, vars);
  }
}
