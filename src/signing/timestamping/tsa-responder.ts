import { Injectable, Logger } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import { Problem } from '../../platform/errors/problem.js';
import { writePem } from '../../formats/encoding/base64.js';
import { TimestampAuthority } from './timestamp-authority.js';
import { TimestampKeys } from './timestamp-keys.js';
import { type TimestampRequester, TimestampRepository } from './timestamp.repository.js';
import { readQuery, TimestampRefusal } from './timestamp-query.js';
import { granted, rejected } from './timestamp-writer.js';

/** Answers timestamp clients: a TimeStampReq in, a TimeStampResp out; refusals are responses of the protocol as well. */
@Injectable()
export class TsaResponder {
  private readonly logger = new Logger(TsaResponder.name);

  constructor(
    private readonly authority: TimestampAuthority,
    private readonly keys: TimestampKeys,
    private readonly repository: TimestampRepository,
  ) {}

  /** TimeStampResp for a TimeStampReq, both DER. */
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

  /** PEM: the certificate of the authority, then those above it. */
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
