import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import { Problem } from '../../platform/errors/problem.js';
import { HostCredentials, type NewCredential } from '../credentials/host-credentials.js';
import { LOGIN_NAME } from '../records/hosts.dto.js';
import { HostsService } from '../records/hosts.service.js';
import type { ImportItem, ItemFault } from './import-result.js';

/** Result for one item of an import. */
interface TakenItem {
  readonly pointer: string;
  readonly outcome: string;
  readonly hostId?: string;
  readonly faults: readonly ItemFault[];
}

export interface ImportCredential extends NewCredential {
  readonly name: string;
}

const DEFAULT_NAME = 'default';
/** Version of a newly created host. */
const FIRST_VERSION = 1;

/**
 * ImportedCredentials adds credentials to imported hosts after the hosts are stored. A credential is sealed for the route to its host, so the host must exist
 * first.
 */
@Injectable()
export class ImportedCredentials {
  constructor(
    private readonly hosts: HostsService,
    private readonly credentials: HostCredentials,
  ) {}

  /** Stores the credentials. Returns the items, adding faults to hosts whose credential could not be stored. Existing hosts are not changed. */
  async enter<Item extends TakenItem>(
    caller: Caller,
    items: readonly ImportItem[],
    taken: readonly Item[],
    given: readonly ImportCredential[],
  ): Promise<Item[]> {
    const opened = new Map<string, NewCredential>();
    const done: Item[] = [];
    for (const [index, item] of taken.entries()) {
      const wanted = credentialOf(items[index], given);
      if (item.outcome !== 'created' || item.hostId === undefined || wanted === undefined) {
        done.push(item);
        continue;
      }
      const faults = await this.enterOne(caller, item, wanted, opened);
      done.push({ ...item, faults: [...item.faults, ...faults] });
    }
    return done;
  }

  private async enterOne(
    caller: Caller,
    { hostId, pointer }: TakenItem,
    { name, ...credential }: ImportCredential,
    opened: Map<string, NewCredential>,
  ): Promise<ItemFault[]> {
    try {
      const ready = opened.get(name) ?? (await this.credentials.normalized(caller, credential));
      opened.set(name, ready);
      const change = { credential: { ...ready, user: credential.user } };
      await this.hosts.update(caller, hostId ?? '', FIRST_VERSION, change);
      return [];
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return [{ pointer: `${pointer}/credential`, detail: `was not imported: ${error.message}` }];
    }
  }
}

/** Returns the items, adding a fault to each item whose credential is missing from the import. */
export function withKnownCredentials(
  items: readonly ImportItem[],
  given: readonly ImportCredential[],
): readonly ImportItem[] {
  const names = given.map(({ name }) => name);
  return items.map((item) => {
    const { credential, user } = item.login ?? {};
    if (user !== undefined && credentialOf(item, given) === undefined && credential === undefined)
      return { ...item, ignored: [...item.ignored, 'user'] };
    return { ...item, faults: [...item.faults, ...faultsOfLogin(item, names)] };
  });
}

function faultsOfLogin({ pointer, login }: ImportItem, names: readonly string[]): ItemFault[] {
  const { credential, user } = login ?? {};
  const unknown = credential !== undefined && !names.includes(credential);
  const known = names.join(', ') || 'none';
  return [
    ...(unknown
      ? [{ pointer: `${pointer}/credential`, detail: `"${credential}" is not a credential of this import (${known})` }]
      : []),
    ...(user === undefined || LOGIN_NAME.test(user)
      ? []
      : [{ pointer: `${pointer}/user`, detail: 'must be a login name' }]),
  ];
}

function credentialOf(item: ImportItem | undefined, given: readonly ImportCredential[]): ImportCredential | undefined {
  const wanted = item?.login?.credential ?? DEFAULT_NAME;
  const credential = given.find(({ name }) => name === wanted);
  return credential && { ...credential, user: item?.login?.user ?? credential.user };
}
