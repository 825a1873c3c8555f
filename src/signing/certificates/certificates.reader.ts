import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { TtlCache } from '../../platform/database/ttl-cache.js';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { PageQuery } from '../../platform/http/page.js';
import { missing } from '../../platform/errors/problem.js';
import { Certificate } from './certificate.entity.js';

/** Finds certificates. Their rows never change, so a row that was read once stays true. */
@Injectable()
export class CertificatesReader {
  private readonly byId = new TtlCache<Certificate>((id) => this.db.manager.findOneBy(Certificate, { id }));

  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
  ) {}

  async get(id: string): Promise<Certificate> {
    const certificate = await this.byId.find(id);
    if (certificate !== null) return certificate;
    throw missing('certificate');
  }

  /** The chain to put into an answer, the certificate itself first; undefined without a certificate. */
  async chain(id: string | null): Promise<Buffer[] | undefined> {
    return id === null ? undefined : (await this.get(id)).chain;
  }

  /** Newest first. */
  async list(page: PageQuery): Promise<Page<Certificate>> {
    return this.cursors.newest('certificates', this.db.createQueryBuilder(Certificate, 'certificate'), page);
  }
}
