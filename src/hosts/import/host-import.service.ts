import { Injectable } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DataSource, type EntityManager, In } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import { stillMay } from '../../auth/rights/still-may.js';
import { isUniqueViolation } from '../../platform/errors/database-error.js';
import { advisoryLock } from '../../platform/database/statements.js';
import { Problem } from '../../platform/errors/problem.js';
import { faultsOfBody } from '../../platform/http/validation.js';
import { HostKeysService } from '../host-keys/host-keys.service.js';
import { canonicalAddress } from '../network/host-place.port.js';
import { Host } from '../model/host.entity.js';
import { CreateHostBody } from '../records/hosts.dto.js';
import { HostsService, type NewHost } from '../records/hosts.service.js';
import type { ImportFormat, ImportItem, ItemFault } from './import-result.js';
import { type ImportCredential, ImportedCredentials, withKnownCredentials } from './imported-credentials.js';
import { cancelled, ImportReading } from './import-reading.service.js';

export interface ImportOrder {
  readonly format: ImportFormat;
  readonly text: string;
  /** Whether to trust the host keys in the file immediately, because the file is from a trusted source. */
  readonly pin: boolean;
  /** `abort`: if any item is rejected, nothing is stored. `skip`: all other items are stored. */
  readonly onRefusal: 'abort' | 'skip';
  readonly dryRun: boolean;
  readonly credentials: readonly ImportCredential[];
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
  /** False for a dry run, or if an item was rejected and `onRefusal` is `abort`. */
  readonly stored: boolean;
  readonly items: readonly ImportedItem[];
}

/** Number of items to process before yielding to the event loop. */
const ITEMS_AT_ONCE = 20;

/** Thrown to roll the transaction back. Not reported as an error. */
class NothingStored extends Error {}

/** HostImport imports hosts from files written by other tools. All hosts are added in one transaction. */
@Injectable()
export class HostImport {
  constructor(
    private readonly db: DataSource,
    private readonly hosts: HostsService,
    private readonly keys: HostKeysService,
    private readonly reading: ImportReading,
    private readonly credentials: ImportedCredentials,
  ) {}

  /** Imports hosts. Throws the problems of ImportReading if the file is not in the given format, or if `signal` reports that the client has disconnected. */
  async run(caller: Caller, order: ImportOrder, signal?: AbortSignal): Promise<ImportReport> {
    const items = withKnownCredentials(await this.reading.read(order, caller.id, signal), order.credentials);
    let taken: ImportedItem[] = [];
    try {
      await this.db.transaction(async (tx) => {
        // Without the lock, concurrent imports would not see each other's names.
        await advisoryLock(tx, 'host import');
        taken = await this.take(tx, caller, items, { pin: order.pin, signal });
        if (order.dryRun || (order.onRefusal === 'abort' && taken.some(({ outcome }) => outcome === 'refused')))
          throw new NothingStored();
        // Checked last, so that the caller's rights are locked only briefly: storing the keys from a file can take a minute.
        await stillMay(tx, caller);
      });
      return { stored: true, items: await this.credentials.enter(caller, items, taken, order.credentials) };
    } catch (error) {
      if (isUniqueViolation(error))
        throw new Problem(
          'conflict',
          'host.name-taken',
          'A host with the same name was added during the import. Import again.',
        );
      if (!(error instanceof NothingStored)) throw error;
      // The IDs of hosts whose creation was rolled back are omitted, because they do not exist. Existing hosts keep their IDs.
      const planned = taken.map((item) => (item.outcome === 'created' ? { ...item, hostId: undefined } : item));
      return { stored: false, items: planned };
    }
  }

  private async take(
    tx: EntityManager,
    caller: Caller,
    items: readonly ImportItem[],
    { pin, signal }: { pin: boolean; signal?: AbortSignal },
  ): Promise<ImportedItem[]> {
    const known = new KnownHosts(await this.known(tx, items));
    const imported = new Map<string, string>();
    const taken: ImportedItem[] = [];
    for (const [index, item] of items.entries()) {
      if (index % ITEMS_AT_ONCE === 0) await nextTurn();
      if (signal?.aborted === true) throw cancelled();
      const faults = [...item.faults];
      const found = faults.length > 0 ? undefined : known.find(item);
      const body =
        found === undefined && faults.length === 0 ? await this.body(item, { known, imported }, faults) : undefined;
      const refused = { outcome: 'refused', hostId: undefined } as const;
      const done =
        faults.length > 0
          ? refused
          : await this.store(tx, { caller, item, found, body, pin }).catch((error: unknown) => {
              faults.push(...faultsOfProblem(error, item));
              return refused;
            });
      if (body !== undefined && done.hostId !== undefined)
        known.add({ id: done.hostId, name: body.name, address: canonicalAddress(body.address), port: body.port ?? 22 });
      if (done.hostId !== undefined) imported.set(item.name, done.hostId);
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

  /** Returns the values of a new host, and appends faults to `faults`. */
  private async body(
    item: ImportItem,
    { known, imported }: { known: KnownHosts; imported: ReadonlyMap<string, string> },
    faults: ItemFault[],
  ): Promise<NewHost | undefined> {
    faults.push(...(await faultsOfBody(CreateHostBody, item.fields, item.pointer)));
    if (known.named(item.name) !== undefined)
      faults.push({ pointer: `${item.pointer}/name`, detail: 'is the name of another host with a different address' });
    // A host in the file may already exist under a different name.
    const jumpHostId =
      item.jumpHost === undefined ? undefined : (imported.get(item.jumpHost) ?? known.named(item.jumpHost)?.id);
    if (item.jumpHost !== undefined && jumpHostId === undefined)
      faults.push({ pointer: `${item.pointer}/jumpHost`, detail: 'is not the name of a host' });
    return { ...(item.fields as unknown as NewHost), ...(jumpHostId === undefined ? {} : { jumpHostId }) };
  }

  /** Returns the existing hosts that may match an item. */
  private async known(tx: EntityManager, items: readonly ImportItem[]): Promise<Known[]> {
    const select = { id: true, name: true, address: true, port: true } as const;
    const names = items.flatMap(({ name, jumpHost }) => [name, jumpHost ?? name]);
    const addresses = items.map(({ fields }) => addressOf(fields));
    const where = [{ name: In([...names, ...addresses]) }, { address: In(addresses) }];
    return tx.find(Host, { where, select, order: { id: 'ASC' } });
  }
}

type Known = Pick<Host, 'id' | 'name' | 'address' | 'port'>;

/** Finds existing hosts by name, or by port plus either address or name. */
class KnownHosts {
  private readonly byPlace = new Map<string, Known>();
  private readonly byName = new Map<string, Known>();

  constructor(hosts: readonly Known[]) {
    for (const host of hosts) this.add(host);
  }

  add(host: Known): void {
    this.byName.set(host.name, host);
    for (const place of [host.address, host.name]) {
      const key = `${place} ${host.port}`;
      if (!this.byPlace.has(key)) this.byPlace.set(key, host);
    }
  }

  named(name: string): Known | undefined {
    return this.byName.get(name);
  }

  /** Returns the existing host with the item's port whose address or name equals the item's address. */
  find({ fields }: ImportItem): Known | undefined {
    return this.byPlace.get(`${addressOf(fields)} ${Number(fields['port'] ?? 22)}`);
  }
}

function addressOf(fields: ImportItem['fields']): string {
  return canonicalAddress(String(fields['address']));
}

interface Storing {
  readonly caller: Caller;
  readonly item: ImportItem;
  readonly found: Known | undefined;
  readonly body: NewHost | undefined;
  readonly pin: boolean;
}

/** Converts a Problem with one item to faults of that item, so that the import can continue. Rethrows other errors. */
function faultsOfProblem(error: unknown, { pointer }: ImportItem): ItemFault[] {
  if (!(error instanceof Problem)) throw error;
  if (error.errors === undefined || error.errors.length === 0) return [{ pointer, detail: error.message }];
  return error.errors.map((fault) => ({ pointer: `${pointer}${fault.pointer}`, detail: fault.detail }));
}
