import { Injectable, Logger } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import { Problem } from '../../platform/errors/problem.js';
import { writePem } from '../../formats/encoding/base64.js';
import { TimestampAuthority } from './timestamp-authority.js';
import { TimestampKeys } from './timestamp-keys.js';
import { type TimestampRequester, TimestampRepository } from './timestamp.repository.js';
import { readQuery, TimestampRefusal } from './timestamp-query.js';
import { granted, rejected } from './timestamp-writer.js';

/** TsaResponder answers timestamp clients: it returns a TimeStampResp for a TimeStampReq. A rejection is also returned as a TimeStampResp. */
@Injectable()
export class TsaResponder {
  private readonly logger = new Logger(TsaResponder.name);

  constructor(
    private readonly authority: TimestampAuthority,
    private readonly keys: TimestampKeys,
    private readonly repository: TimestampRepository,
  ) {}

  /** Returns the TimeStampResp for a TimeStampReq, both DER. */
  async answer(caller: Caller, bytes: Buffer): Promise<Buffer> {
    const { requestId: correlation, address: source } = caller.origin;
    const requester: TimestampRequester = { actor: caller, ownerId: caller.ownerId, correlation, source };
    try {
      return granted(await this.authority.stamp(readQuery(bytes), requester));
    } catch (error) {
      const refusal = this.refusalOf(error);
      await this.repository.refuse(requester, refusal);
      return rejected(refusal);
    }
  }

  /** Returns the authority's certificate followed by its issuers, PEM. */
  async chain(): Promise<string> {
    const { stamper } = await this.keys.current();
    return stamper.chain.map((der) => writePem('CERTIFICATE', der)).join('');
  }

  private refusalOf(error: unknown): TimestampRefusal {
    if (error instanceof TimestampRefusal) return error;
    if (!(error instanceof Problem)) throw error;
    this.logger.warn(`${error.code}: ${error.message}`);
    return new TimestampRefusal('systemFailure', error.message);
  }
}
