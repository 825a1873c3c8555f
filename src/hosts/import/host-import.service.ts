import { Injectable } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DataSource, type EntityManager, In } from 'typeorm';
import type { Caller } from '../../auth/caller.js';
import { isUniqueViolation } from '../../platform/database/database-error.js';
import { hold } from '../../platform/database/hold.js';
import { Problem } from '../../platform/http/problem.js';
import { faultsOfBody } from '../../platform/http/validation.js';
import { HostKeysService } from '../host-keys/host-keys.service.js';
import { Host } from '../records/host.entity.js';
import { CreateHostBody } from '../records/hosts.dto.js';
import { HostsService, type NewHost } from '../records/hosts.service.js';
import { readAnsibleIni } from './ansible-ini.js';
import { readAnsibleYaml } from './ansible-yaml.js';
import { readCsvHosts } from './csv-hosts.js';
import type { ImportFormat, ImportItem, ItemFault } from './import-item.js';
import { isHashOf, readKnownHosts } from './known-hosts.js';

export interface ImportOrder {
  readonly format: ImportFormat;
  readonly text: string;
  /** Keys of hosts are trusted at once: the file is from a safe place. */
  readonly pin: boolean;
  /** `abort`: one item that is refused, and nothing is stored. */
  readonly onRefusal: 'abort' | 'skip';
  readonly dryRun: boolean;
}

export const IMPORT_OUTCOMES = ['created', 'keys-added', 'unchanged', 'refused'] as const;
export type ImportOutcome = (typeof IMPORT_OUTCOMES)[number];

export interface ImportedItem {
  readonly pointer: string;
  readonly name: string;
  readonly outcome: ImportOutcome;
  readonly hostId?: string;
  readonly faults: readonly ItemFault[];
  readonly ignored: readonly string[];
}

export interface ImportReport {
  /** false: a dry run, or something was refused and `onRefusal` is `abort`. */
  readonly stored: boolean;
  readonly items: readonly ImportedItem[];
}

const MOST_ITEMS = 5000;

/** Undoes what was written so far; not an error to anybody. */
class NothingStored extends Error {}

/** Takes hosts from files of other tools: all of them in one transaction. */
@Injectable()
export class HostImport {
  constructor(
    private readonly db: DataSource,
    private readonly hosts: HostsService,
    private readonly keys: HostKeysService,
  ) {}

  /** Throws Problem `host-import.format` when it is not such a file at all. */
  async run(caller: Caller, order: ImportOrder): Promise<ImportReport> {
    const items = itemsOf(order);
    let taken: ImportedItem[] = [];
    try {
      await this.db.transaction(async (tx) => {
        // Two imports at once would not see each other's names.
        await hold(tx, 'host import');
        taken = await this.take(tx, caller, items, order.pin);
        if (order.dryRun || (order.onRefusal === 'abort' && taken.some(({ outcome }) => outcome === 'refused')))
          throw new NothingStored();
      });
      return { stored: true, items: taken };
    } catch (error) {
      if (isUniqueViolation(error))
        throw new Problem(
          'conflict',
          'host.name-taken',
          'Somebody added a host of the same name meanwhile; import again.',
        );
      if (!(error instanceof NothingStored)) throw error;
      // An id of a row that is not there would only mislead; hosts that were there before keep theirs.
      const told = taken.map((item) => (item.outcome === 'created' ? { ...item, hostId: undefined } : item));
      return { stored: false, items: told };
    }
  }

  private async take(tx: EntityManager, caller: Caller, items: ImportItem[], pin: boolean): Promise<ImportedItem[]> {
    const known = await this.known(tx, items);
    const taken: ImportedItem[] = [];
    for (const item of items) {
      const faults = [...item.faults];
      // The name behind a hash is found by trying all that are known; whoever else calls meanwhile has a turn.
      if (item.hashed !== undefined) await nextTurn();
      const found = known.find((host) => isSame(host, item));
      const body = found === undefined && faults.length === 0 ? await this.body(item, known, faults) : undefined;
      const refused = { outcome: 'refused', hostId: undefined } as const;
      const done =
        faults.length > 0
          ? refused
          : await this.store(tx, { caller, item, found, body, pin }).catch((error: unknown) => {
              faults.push(...faultsOfProblem(error, item));
              return refused;
            });
      if (body !== undefined && done.hostId !== undefined)
        known.push({ id: done.hostId, name: body.name, address: body.address.toLowerCase(), port: body.port ?? 22 });
      taken.push({ pointer: item.pointer, name: found?.name ?? item.name, ...done, faults, ignored: item.ignored });
    }
    return taken;
  }

  private async store(
    tx: EntityManager,
    { caller, item, found, body, pin }: Storing,
  ): Promise<{ outcome: ImportOutcome; hostId: string }> {
    const id = found?.id ?? (await this.hosts.add(tx, caller, body as NewHost));
    let added = 0;
    for (const { key, state = pin ? 'pinned' : 'tofu-pending' } of item.keys)
      if (await this.keys.enter(tx, caller, id, key, state)) added += 1;
    if (found === undefined) return { outcome: 'created', hostId: id };
    return { outcome: added > 0 ? 'keys-added' : 'unchanged', hostId: id };
  }

  /** The order that makes the host; what is wrong with it is put to the faults. */
  private async body(item: ImportItem, known: Known[], faults: ItemFault[]): Promise<NewHost | undefined> {
    if (item.hashed !== undefined) {
      faults.push({ pointer: item.pointer, detail: 'is the hash of a name, and no known host has that name' });
      return undefined;
    }
    faults.push(...(await faultsOfBody(CreateHostBody, item.fields, item.pointer)));
    if (known.some(({ name }) => name === item.name))
      faults.push({ pointer: `${item.pointer}/name`, detail: 'is the name of another host, at another address' });
    const jumpHostId = known.find(({ name }) => name === item.jumpHost)?.id;
    if (item.jumpHost !== undefined && jumpHostId === undefined)
      faults.push({ pointer: `${item.pointer}/jumpHost`, detail: 'is the name of no host' });
    return { ...(item.fields as unknown as NewHost), ...(jumpHostId === undefined ? {} : { jumpHostId }) };
  }

  /** Hosts that an item could be. A hashed name could be any of them. */
  private async known(tx: EntityManager, items: readonly ImportItem[]): Promise<Known[]> {
    const select = { id: true, name: true, address: true, port: true } as const;
    if (items.some(({ hashed }) => hashed !== undefined)) return tx.find(Host, { select, order: { id: 'ASC' } });
    const names = items.flatMap(({ name, jumpHost }) => [name, jumpHost ?? name]);
    const addresses = items.map(({ fields }) => String(fields['address']).toLowerCase());
    return tx.find(Host, { where: [{ name: In(names) }, { address: In(addresses) }], select, order: { id: 'ASC' } });
  }
}

type Known = Pick<Host, 'id' | 'name' | 'address' | 'port'>;

interface Storing {
  readonly caller: Caller;
  readonly item: ImportItem;
  readonly found: Known | undefined;
  readonly body: NewHost | undefined;
  readonly pin: boolean;
}

function itemsOf({ format, text }: ImportOrder): ImportItem[] {
  const items = read(format, text);
  const [detail, pointer] =
    items === undefined
      ? [`is no ${format}`, '/text']
      : [`has ${items.length} hosts; ${MOST_ITEMS} are the most`, '/text'];
  if (items !== undefined && items.length <= MOST_ITEMS) return items;
  throw new Problem('refused', 'host-import.format', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}

function read(format: ImportFormat, text: string): ImportItem[] | undefined {
  switch (format) {
    case 'csv':
      return readCsvHosts(text);
    case 'known-hosts':
      return readKnownHosts(text);
    case 'ansible-ini':
      return readAnsibleIni(text);
    case 'ansible-yaml':
      return readAnsibleYaml(text);
  }
}

/** The same address and port, or the name that it has here. */
function isSame({ name, address, port }: Known, { fields, hashed }: ImportItem): boolean {
  if (hashed !== undefined) return isHashOf(hashed, address, port) || isHashOf(hashed, name, port);
  const there = String(fields['address']).toLowerCase().replace(/\.$/, '');
  return (address === there || name === there) && port === (fields['port'] ?? 22);
}

/** What the rules of hosts say of one item is no fault of the import; anything else is thrown. */
function faultsOfProblem(error: unknown, { pointer }: ImportItem): ItemFault[] {
  if (!(error instanceof Problem)) throw error;
  if (error.errors === undefined || error.errors.length === 0) return [{ pointer, detail: error.message }];
  return error.errors.map((fault) => ({ pointer: `${pointer}${fault.pointer}`, detail: fault.detail }));
}
