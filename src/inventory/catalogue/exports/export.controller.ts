import { Controller, Get, Headers, HttpCode, HttpStatus, Post, Query, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { pipeline, Readable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import { callerOf, Needs, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { MayBeOlder } from '../../../platform/instances/may-be-older.js';
import { type AuthorizedRequest, watchRight, whileAuthorized } from '../../../platform/http/reauthorization.js';
import { isKnown } from '../../../platform/http/versions.js';
import { AssetCsv } from './asset-csv.js';
import { BomExporter } from './bom-export.js';
import type { ExportVersion } from './export-versions.js';
import { BomExportQuery, CsvExportQuery, SignedBomExportQuery } from './export.dto.js';

const FILE = 'inventory.cdx.json';

@ApiTags('Inventory')
@Controller('api/export')
export class ExportController {
  constructor(
    private readonly exporter: BomExporter,
    private readonly csv: AssetCsv,
  ) {}

  /**
   * Export assets as CSV
   * @remarks Returns assets as CSV for spreadsheets. The file begins with a byte order mark unless `bom` is false.
   */
  @Get('csv')
  @MayBeOlder()
  @Needs('inventory:read')
  @ApiProduces('text/csv')
  @ApiOkResponse({ schema: { type: 'string', example: 'id,kind,name,family,bits,level' }, description: 'RFC 4180' })
  async exportCsv(
    @Query() { bom, ...query }: CsvExportQuery,
    @Req() request: AuthorizedRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const body = sentTo(request, await this.csv.open(query, { bom, principal: request.principal }));
    void reply
      .header('content-type', 'text/csv; charset=utf-8; header=present')
      .header('content-disposition', 'attachment; filename="assets.csv"')
      .header('cache-control', 'private, no-store')
      .send(body);
  }

  /**
   * Export assets as CycloneDX
   * @remarks Returns assets as a CycloneDX 1.6 document, or 1.7 with `version`. Repeated exports of an unchanged inventory are byte-identical and have the same
   * ETag.
   */
  @Get('cyclonedx')
  @MayBeOlder()
  @Needs('inventory:read')
  @ApiProduces('application/vnd.cyclonedx+json')
  @ApiOkResponse({
    schema: {
      type: 'object',
      additionalProperties: true,
      example: { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, components: [] },
    },
    description: 'A CycloneDX document',
  })
  async exportCycloneDx(
    @Query() { own, version, ...filter }: BomExportQuery,
    @Req() request: AuthorizedRequest,
    @Res() reply: FastifyReply,
    @Headers('accept-encoding') encodings = '',
    @Headers('if-none-match') known = '',
  ): Promise<void> {
    const zipped = wantsGzip(encodings);
    const etagOf = (hash: string) => `"${hash}${zipped ? '-gzip' : ''}"`;
    const { tag, body } = await this.exporter.open(filter, {
      own,
      version,
      principal: request.principal,
      caller: callerOf(request),
      knows: (current) => isKnown(known, etagOf(current)),
    });
    void reply
      .header('etag', etagOf(tag))
      .header('vary', 'accept-encoding, authorization')
      .header('cache-control', 'private, no-cache');
    if (body === undefined) return void reply.status(HttpStatus.NOT_MODIFIED).send();
    send(reply, sentTo(request, body), { version, zipped });
  }

  /**
   * Export signed CycloneDX
   * @remarks Returns assets as a CycloneDX document with an embedded signature (JSF) created with a signing key. Each call creates a new signature.
   */
  @Post('cyclonedx')
  @HttpCode(HttpStatus.OK)
  @Needs('inventory:read', 'sign:digest')
  @ApiProduces('application/vnd.cyclonedx+json')
  @ApiOkResponse({
    schema: {
      type: 'object',
      additionalProperties: true,
      example: { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, components: [], signature: {} },
    },
    description: 'A signed CycloneDX document',
  })
  async exportSignedCycloneDx(
    @TheCaller() caller: Caller,
    @Query() { key, own, version, ...filter }: SignedBomExportQuery,
    @Req() request: AuthorizedRequest,
    @Res() reply: FastifyReply,
    @Headers('accept-encoding') encodings = '',
  ): Promise<void> {
    const { principal } = request;
    const opened = await this.exporter.openSigned(filter, { own, version, principal, caller, key, filename: FILE });
    const body = sentTo(request, opened);
    void reply.header('cache-control', 'private, no-store');
    send(reply, body, { version, zipped: wantsGzip(encodings) });
  }
}

function wantsGzip(encodings: string): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/i.test(encodings);
}

/** Returns a stream of the body that ends with an error when the caller loses the permission. Closing the stream also closes the body. */
function sentTo(request: AuthorizedRequest, body: Readable): Readable {
  const parts = Readable.from(whileAuthorized(request, body as AsyncIterable<Buffer>), { objectMode: false });
  const stop = watchRight(request, () => parts.destroy(new Error('the caller is no longer allowed to read')));
  parts.once('close', () => {
    stop();
    body.destroy();
  });
  return parts;
}

interface Form {
  readonly version: ExportVersion;
  readonly zipped: boolean;
}

function send(reply: FastifyReply, body: Readable, { version, zipped }: Form): void {
  const type = `application/vnd.cyclonedx+json; version=${version}`;
  void reply.header('content-type', type).header('content-disposition', `attachment; filename="${FILE}"`);
  if (!zipped) return void reply.send(body);
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  // An error ends both streams. Fastify then closes the connection, so that the client cannot mistake a partial response for a complete response.
  pipeline(body, gzip, () => undefined);
  void reply.header('content-encoding', 'gzip').send(gzip);
}
