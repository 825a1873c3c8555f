import { readHostPlace, splitHostPort } from '../network/host-place.port.js';
import { inventoryNameOf } from './ansible-hosts.js';
import { badItem, type ImportItem, type ImportBudget } from './import-result.js';
import { type ConfigBlock, matchesBlock, readBlocks } from './ssh-config-blocks.js';
import { truncate } from '../../platform/text/truncate.js';

const DEFAULT_PORT = 22;
const MAX_JUMPS = 3;
const MAX_IGNORED = 30;
const TAKEN = ['hostname', 'port', 'proxyjump', 'user'];

/**
 * readSshConfig reads ssh_config(5). Each name in a `Host` line that is not a pattern becomes a host. `HostName`, `Port` and `ProxyJump` are evaluated as in
 * ssh, which uses the first value of each keyword. Jump hosts precede the hosts that are reached through them. Throws ImportRefusal.
 */
export function readSshConfig(text: string, budget: ImportBudget): ImportItem[] {
  const { blocks, faults } = readBlocks(text);
  const names = new Map<string, number>();
  for (const { patterns, line, kind } of blocks)
    if (kind === 'host')
      for (const pattern of patterns) if (isName(pattern) && !names.has(pattern)) names.set(pattern, line);
  const bad = faults.map(({ line, name, detail }) => badItem(`line ${line}`, name, detail));
  for (const _ of bad) budget.spendHost();
  const reading = new ConfigReading(blocks, names, budget);
  for (const name of names.keys()) reading.host(name);
  return [...bad, ...reading.items.values()];
}

type Way = { readonly name: string } | { readonly detail: string };

/** OtherHop is a jump host that is not itself a host in the file. */
interface OtherHop {
  readonly isBlock: false;
  readonly alias: string;
  readonly address: string;
  readonly port: number;
  /** Whether ProxyJump specifies the port. In that case, the name of the jump host includes the port. */
  readonly isWritten: boolean;
  readonly settings: ReadonlyMap<string, string>;
}

type Hop = OtherHop | { readonly isBlock: true; readonly alias: string };

function isName(pattern: string): boolean {
  return !/[*?!]/.test(pattern);
}

class ConfigReading {
  /** Hosts by their name in the file. Jump hosts precede the hosts that are reached through them. */
  readonly items = new Map<string, ImportItem>();
  private readonly open = new Set<string>();

  constructor(
    private readonly blocks: readonly ConfigBlock[],
    private readonly names: ReadonlyMap<string, number>,
    private readonly budget: ImportBudget,
  ) {}

  /** Adds a host and its jump hosts. Returns the name of the host in the import. */
  host(alias: string): string {
    const name = inventoryNameOf(alias);
    if (this.items.has(alias) || this.open.has(alias)) return name;
    this.open.add(alias);
    const pointer = `line ${this.names.get(alias) ?? 0}`;
    const settings = this.settingsOf(alias);
    const item = this.itemOf(alias, pointer, settings);
    this.budget.spendHost();
    this.items.set(alias, item);
    return name;
  }

  private itemOf(alias: string, pointer: string, settings: ReadonlyMap<string, string>): ImportItem {
    const place = placeOf(alias, settings);
    if (typeof place === 'string') return badItem(pointer, alias, place);
    const port = settings.get('port');
    const jump = settings.get('proxyjump') ?? 'none';
    const way = jump === 'none' ? undefined : this.jump(alias, jump.split(','), pointer);
    if (way !== undefined && 'detail' in way) return badItem(pointer, alias, way.detail);
    const name = inventoryNameOf(alias);
    const fields = { name, address: place.address, ...(port === undefined ? {} : { port: Number(port) }) };
    const ignored = [...settings.keys()].filter((key) => !TAKEN.includes(key)).slice(0, MAX_IGNORED);
    const login = { user: settings.get('user') };
    return { pointer, name, fields, login, jumpHost: way?.name, keys: [], faults: [], ignored };
  }

  /** Returns the last jump host of a connection, after adding all jump hosts. Each jump host is reached through the preceding jump host. */
  private jump(alias: string, jumps: readonly string[], pointer: string): Way {
    if (jumps.length > MAX_JUMPS) return { detail: `is reached through more than ${MAX_JUMPS} jump hosts` };
    let before: string | undefined;
    for (const text of jumps) {
      const hop = this.hopOf(text.trim());
      if (typeof hop === 'string') return { detail: `has the ProxyJump ${truncate(text.trim(), 60)}, which ${hop}` };
      if (hop.alias === alias) return { detail: 'is reached through itself' };
      if (!hop.isBlock) before = this.hopHost(hop, before, pointer);
      else {
        const name = this.host(hop.alias);
        const own = this.items.get(hop.alias)?.jumpHost;
        if (before !== undefined && own !== before)
          return {
            detail: `is reached through ${truncate(hop.alias, 60)} via ${before}, which that host's entry does not specify`,
          };
        before = name;
      }
    }
    return { name: before ?? '' };
  }

  /** Parses `[user@]host[:port]`. As in ssh, blocks apply to the host, but a port in this text takes precedence. */
  private hopOf(text: string): Hop | string {
    const written = splitHostPort(text);
    const given = readHostPlace(text);
    if (written === undefined || given === undefined) return 'is not a host';
    const alias = written.host;
    const settings = this.settingsOf(alias);
    const blockPort = Number(settings.get('port') ?? DEFAULT_PORT);
    const port = given.port ?? blockPort;
    if (this.names.has(alias) && port === blockPort) return { alias, isBlock: true };
    const place = settings.has('hostname') ? placeOf(alias, settings) : given;
    const isWritten = given.port !== undefined && port !== DEFAULT_PORT;
    return typeof place === 'string'
      ? place
      : { alias, isBlock: false, address: place.address, port, isWritten, settings };
  }

  /** Adds a jump host that has no block or whose block has another port. Returns the name of the jump host in the import. */
  private hopHost(
    { alias, address, port, isWritten, settings }: OtherHop,
    before: string | undefined,
    pointer: string,
  ): string {
    const plain = inventoryNameOf(alias);
    let name = isWritten || this.names.has(alias) ? `${plain}-${port}` : plain;
    while (this.names.has(name)) name += '-jump';
    if (this.items.has(name)) return name;
    this.budget.spendHost();
    const jumpHost = before ?? this.ownWay(alias, settings, pointer);
    const fields = { name, address, ...(port === DEFAULT_PORT ? {} : { port }) };
    this.items.set(name, { pointer, name, fields, jumpHost, keys: [], faults: [], ignored: [] });
    return name;
  }

  /** Returns the jump host configured for a jump host, or undefined if that route would lead back to the jump host itself. */
  private ownWay(alias: string, settings: ReadonlyMap<string, string>, pointer: string): string | undefined {
    if (this.names.has(alias)) {
      this.host(alias);
      return this.items.get(alias)?.jumpHost;
    }
    const jump = settings.get('proxyjump') ?? 'none';
    if (jump === 'none' || this.open.has(alias)) return undefined;
    this.open.add(alias);
    const way = this.jump(alias, jump.split(','), pointer);
    return 'name' in way ? way.name : undefined;
  }

  private settingsOf(alias: string): Map<string, string> {
    const settings = new Map<string, string>();
    for (const block of this.blocks) {
      this.budget.spend(1 + block.patterns.length);
      if (!matchesBlock(block, alias)) continue;
      for (const [key, value] of block.settings) if (!settings.has(key)) settings.set(key, value);
    }
    return settings;
  }
}

/** Returns the host's address, or the reason that the file does not determine the address. */
function placeOf(alias: string, settings: ReadonlyMap<string, string>): { address: string } | string {
  const command = settings.get('proxycommand') ?? 'none';
  if (command !== 'none' && command !== '' && !settings.has('proxyjump'))
    return 'uses ProxyCommand, which is not supported: use ProxyJump';
  const address = (settings.get('hostname') ?? alias).replaceAll(/%[h%]/g, (token) => (token === '%h' ? alias : '%'));
  const place = readHostPlace(address);
  // A remaining percent sign is an ssh token or belongs to the zone of an IPv6 address.
  const isWhole = place !== undefined && (!address.includes('%') || place.address.includes(':'));
  return isWhole ? place : `has the HostName ${truncate(address, 60)}, which ssh computes at run time`;
}
