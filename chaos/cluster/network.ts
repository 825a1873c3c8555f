import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { allPids } from '../signing/processes.js';

const SPACES = '/run/netns';
const NODES = [1, 2, 3] as const;
export type NodeNumber = (typeof NODES)[number];

/**
 * Three machines as far as the network can tell: a network namespace each, joined by a bridge. Who starts the proof is at the bridge too, as
 * clients are. Needs root and CAP_NET_ADMIN.
 */
export class Network {
  readonly nodes = NODES;
  private readonly subnet = `10.77.${process.pid % 250}`;
  private readonly bridge = `swb${process.pid}`;

  /** Throws with what the machine refuses. */
  open(): void {
    sweep();
    ip('link', 'add', this.bridge, 'type', 'bridge');
    ip('addr', 'add', `${this.subnet}.1/24`, 'dev', this.bridge);
    ip('link', 'set', this.bridge, 'up');
    for (const node of NODES) this.add(node);
  }

  close(): void {
    for (const node of NODES) if (hasSpace(this.space(node))) ip('netns', 'del', this.space(node));
    if (ipSays('link', 'show', this.bridge)) ip('link', 'del', this.bridge);
  }

  address(node: NodeNumber): string {
    return `${this.subnet}.${10 + node}`;
  }

  get block(): string {
    return `${this.subnet}.0/24`;
  }

  /** The words before a command that make it run on the machine. */
  on(node: NodeNumber): readonly string[] {
    return ['ip', 'netns', 'exec', this.space(node)];
  }

  /** Nothing reaches the machine and nothing leaves it. Whoever is connected is not told. */
  isolate(node: NodeNumber): void {
    ip('link', 'set', this.link(node), 'down');
  }

  /** The machine and the other two do not reach each other; clients reach all of them. */
  split(node: NodeNumber): void {
    for (const other of this.others(node)) {
      this.mute(node, other);
      this.mute(other, node);
    }
  }

  /** What the machine sends to the others is lost; what they send arrives. */
  silence(node: NodeNumber): void {
    for (const other of this.others(node)) this.mute(node, other);
  }

  heal(): void {
    for (const node of NODES) {
      ip('link', 'set', this.link(node), 'up');
      for (const other of this.others(node)) ipSays(...this.muting('del', node, other));
    }
  }

  private others(node: NodeNumber): readonly NodeNumber[] {
    return NODES.filter((other) => other !== node);
  }

  private mute(from: NodeNumber, to: NodeNumber): void {
    ip(...this.muting('add', from, to));
  }

  private muting(verb: 'add' | 'del', from: NodeNumber, to: NodeNumber): string[] {
    return ['-n', this.space(from), 'route', verb, 'blackhole', `${this.address(to)}/32`];
  }

  private add(node: NodeNumber): void {
    const space = this.space(node);
    const inside = `${this.link(node)}i`;
    ip('netns', 'add', space);
    ip('link', 'add', this.link(node), 'type', 'veth', 'peer', 'name', inside);
    ip('link', 'set', inside, 'netns', space);
    ip('link', 'set', this.link(node), 'master', this.bridge, 'up');
    ip('-n', space, 'addr', 'add', `${this.address(node)}/24`, 'dev', inside);
    ip('-n', space, 'link', 'set', inside, 'up');
    ip('-n', space, 'link', 'set', 'lo', 'up');
  }

  private space(node: NodeNumber): string {
    return `sw-${process.pid}-${node}`;
  }

  private link(node: NodeNumber): string {
    return `swv${process.pid}n${node}`;
  }
}

function ip(...words: string[]): void {
  execFileSync('ip', words, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Whether `ip` succeeds. */
function ipSays(...words: string[]): boolean {
  try {
    ip(...words);
    return true;
  } catch {
    return false;
  }
}

function hasSpace(name: string): boolean {
  return spaces().includes(name);
}

function spaces(): string[] {
  try {
    return readdirSync(SPACES);
  } catch {
    return [];
  }
}

/** What a run that was killed left behind; its name has the process id. */
function sweep(): void {
  const alive = new Set(allPids());
  for (const name of spaces()) {
    const pid = Number(/^sw-(\d+)-\d$/.exec(name)?.[1]);
    if (!(pid > 0) || alive.has(pid)) continue;
    ip('netns', 'del', name);
    ipSays('link', 'del', `swb${pid}`);
  }
}
