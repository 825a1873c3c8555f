import { Injectable } from '@nestjs/common';
import { DataSource, In, IsNull, Not } from 'typeorm';
import { Host } from '../../hosts/model/host.entity.js';
import { isId } from '../../platform/database/new-id.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { ScanScope, type Scan, type ScanKind } from '../scan.entity.js';
import { ScopeGuard } from '../scopes/scope-guard.js';
import { TargetWalk } from '../probing/target-walk.js';

/** ScanOrder requests a network scan within a scope, or a deep scan of hosts that the service can log in to. */
export interface ScanOrder {
  readonly kind: ScanKind;
  readonly scopeId?: string;
  /** Defaults to all targets in the scope. */
  readonly targets?: readonly string[];
  readonly ports?: readonly number[];
  /** Hosts of an `ssh-deep` scan. Defaults to every host with a credential. */
  readonly hosts?: readonly string[];
  readonly label?: string;
}

/** An allowed scan, with its targets in canonical form. */
export type PlannedScan = Pick<Scan, 'kind' | 'scopeId' | 'targets' | 'ports' | 'total'> & {
  readonly scopeName?: string;
};

/** Maximum number of probes per scan. A larger scan would take hours. */
const MAX_PROBES = 2_000_000;
const MAX_HOSTS = 5000;
/** Maximum number of names and networks per scan. A range of addresses counts as several networks. */
const MAX_TARGETS = 1000;

/** ScanPlanner parses the requested targets and checks that the targets are allowed. ScanPlanner writes nothing. */
@Injectable()
export class ScanPlanner {
  constructor(
    private readonly db: DataSource,
    private readonly guard: ScopeGuard,
  ) {}

  /** Plans a scan. Throws Problem `scan.outside-scope`, `scan.too-large`, `scan.no-hosts`, `request.invalid`, or a Problem of the address rules. */
  plan(order: ScanOrder): Promise<PlannedScan> {
    return order.kind === 'ssh-deep' ? this.onHosts(order) : this.onNetwork(order);
  }

  private async onNetwork(order: ScanOrder): Promise<PlannedScan> {
    refuseMembers(order, ['hosts', 'label'], 'is allowed only for ssh-deep');
    if (order.scopeId === undefined) throw badMember('/scopeId', 'is required');
    const scope = await this.db.manager.findOneBy(ScanScope, { id: order.scopeId });
    if (scope === null) throw missing('scan-scope');
    const ports = portsOf(scope, order.ports);
    const targets = await this.targetsOf(scope, order.targets, ports[0] ?? 0);
    const { total } = new TargetWalk(targets, ports, scope.id);
    assertSize(total, MAX_PROBES);
    return { kind: order.kind, scopeId: scope.id, scopeName: scope.name, targets, ports, total };
  }

  private async targetsOf(scope: ScanScope, given: readonly string[] | undefined, port: number): Promise<string[]> {
    if (given === undefined) return [...scope.networks, ...scope.names];
    const targets: string[] = [];
    for (const [index, text] of given.entries()) {
      targets.push(...(await this.guard.targets(scope, text, port, `/targets/${index}`)));
      if (targets.length > MAX_TARGETS)
        throw badMember(`/targets/${index}`, `exceeds the limit of ${MAX_TARGETS} targets per scan`);
    }
    return [...new Set(targets)];
  }

  private async onHosts(order: ScanOrder): Promise<PlannedScan> {
    refuseMembers(order, ['scopeId', 'targets', 'ports'], 'is not allowed with ssh-deep: specify hosts or a label');
    const { hosts, label } = order;
    const [key = '', value] = label?.split(':', 2) ?? [];
    const stray = hosts?.findIndex((id) => !isId(id)) ?? -1;
    if (stray !== -1) throw badMember(`/hosts/${stray}`, 'is not a valid ID');
    const query = this.db.manager
      .createQueryBuilder(Host, 'host')
      .select('host.id', 'id')
      .where({ credentialKind: Not(IsNull()), ...(hosts === undefined ? {} : { id: In([...hosts]) }) });
    if (value !== undefined) query.andWhere('host.labels @> :wanted', { wanted: JSON.stringify({ [key]: value }) });
    else if (label !== undefined) query.andWhere('jsonb_exists(host.labels, :key)', { key });
    const found = await query
      .orderBy('host.id')
      .limit(MAX_HOSTS + 1)
      .getRawMany<{ id: string }>();
    const targets = found.map(({ id }) => id);
    const absent = hosts?.findIndex((id) => !targets.includes(id.toLowerCase())) ?? -1;
    if (absent !== -1 || targets.length === 0) {
      const errors = absent === -1 ? [] : [{ pointer: `/hosts/${absent}`, detail: 'is not a host with a credential' }];
      throw new Problem('refused', 'scan.no-hosts', 'The service has no credential to log in to the host.', { errors });
    }
    assertSize(targets.length, MAX_HOSTS);
    return { kind: order.kind, scopeId: null, targets, ports: [], total: targets.length };
  }
}

function assertSize(total: number, max: number): void {
  if (total <= max) return;
  throw new Problem(
    'refused',
    'scan.too-large',
    `The scan needs ${total} probes; the maximum is ${max}. Scan fewer targets or ports at once.`,
  );
}

function portsOf(scope: ScanScope, ports: readonly number[] = scope.ports): number[] {
  const stray = ports.findIndex((port) => !scope.ports.includes(port));
  if (stray === -1) return [...ports];
  const errors = [{ pointer: `/ports/${stray}`, detail: 'is not in the scope' }];
  throw new Problem('forbidden', 'scan.outside-scope', `/ports/${stray}: is not in the scope.`, { errors });
}

function refuseMembers(order: ScanOrder, names: readonly (keyof ScanOrder)[], detail: string): void {
  const given = names.find((name) => order[name] !== undefined);
  if (given !== undefined) throw badMember(`/${given}`, detail);
}

function badMember(pointer: string, detail: string): Problem {
  return new Problem('malformed', 'request.invalid', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}
