import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { PageQuery } from '../../platform/http/page.js';
import { missing } from '../../platform/errors/problem.js';
import { Host, type Reachability } from '../model/host.entity.js';
import { readSelector } from './labels.js';

export interface HostFilter extends PageQuery {
  readonly label?: string;
  readonly q?: string;
  readonly environment?: string;
  readonly reachability?: Reachability;
}

/** HostsReader reads hosts. */
@Injectable()
export class HostsReader {
  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
  ) {}

  async get(id: string, tx: EntityManager = this.db.manager): Promise<Host> {
    const host = await tx.findOneBy(Host, { id });
    if (host !== null) return host;
    throw missing('host');
  }

  /** Returns hosts, newest first. */
  async list({ limit, cursor, ...filter }: HostFilter): Promise<Page<Host>> {
    const { label, q, environment, reachability } = filter;
    const list = `hosts ${JSON.stringify([label, q, environment, reachability])}`;
    const { equal, present } = readSelector(label);
    const query = this.db.createQueryBuilder(Host, 'host');
    if (Object.keys(equal).length > 0) query.andWhere('host.labels @> :equal', { equal: JSON.stringify(equal) });
    if (present.length > 0) query.andWhere('jsonb_exists_all(host.labels, ARRAY[:...present])', { present });
    if (q !== undefined) query.andWhere('strpos(lower(host.name || chr(32) || host.address), lower(:q)) > 0', { q });
    if (environment !== undefined) query.andWhere('host.environment = :environment', { environment });
    if (reachability !== undefined) query.andWhere('host.reachability = :reachability', { reachability });
    return this.cursors.newest(list, query, { limit, cursor });
  }
}
