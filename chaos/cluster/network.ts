import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { allPids } from '../signing/processes.js';

const SPACES = '/run/netns';
const NODES = [1, 2, 3] as const;
export type NodeNumber = (typeof NODES)[number];

/**
 * Simulates three machines as network namespaces joined by a bridge. The process that runs the proof and the clients is also connected to the bridge. Requires
 * root and CAP_NET_ADMIN.
 */
export class Network {
  readonly nodes = NODES;
  private readonly subnet = `10.77.${process.pid % 250}`;
  private readonly bridge = `swb${process.pid}`;

  /** Creates the network. Throws an error that names the operation that this machine does not permit. */
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

  /** Returns the prefix that makes a command run on the machine. */
  on(node: NodeNumber): readonly string[] {
    return ['ip', 'netns', 'exec', this.space(node)];
  }

  /** Drops all traffic to and from the machine, without closing open connections. */
  isolate(node: NodeNumber): void {
    ip('link', 'set', this.link(node), 'down');
  }

  /** Blocks traffic between the machine and the other two machines. Clients can still reach all three machines. */
  split(node: NodeNumber): void {
    for (const other of this.others(node)) {
      this.mute(node, other);
      this.mute(other, node);
    }
  }

  /** Drops traffic from the machine to the other two machines. Traffic to the machine still arrives. */
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

/** Reports whether `ip` succeeds. */
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

/** Removes namespaces and links that a killed run left behind. Their names contain the ID of the dead process. */
function sweep(): void {
  const alive = new Set(allPids());
  for (const name of spaces()) {
    const pid = Number(/^sw-(\d+)-\d$/.exec(name)?.[1]);
    if (!(pid > 0) || alive.has(pid)) continue;
    ip('netns', 'del', name);
    ipSays('link', 'del', `swb${pid}`);
  }
}
