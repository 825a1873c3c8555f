import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, Matches } from 'class-validator';
import { viewOf } from '../../../platform/http/fields/view-of.js';
import { Optional, Text } from '../../../platform/http/fields/fields.js';
import { PageOf } from '../../../platform/http/fields/page-of.js';
import { PageQuery } from '../../../platform/http/page.js';
import { ASSET_KINDS, ASSET_STATES } from '../../model/asset-kind.js';
import { LEVELS, type Level } from '../../model/risk-verdict.js';
import { bomLinkOf } from './bom-link.js';
import type { LinkedAsset, LinkedDocument, Resolved } from './bom-links.reader.js';

const SERIAL = /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export class BomLinkQuery {
  /** @example urn:cdx:3e671687-395b-41f5-a30f-a58921a69b79/1#rsa */
  @Text(1, 4000) link: string;
}

export class BomLinkBody {
  /** @example urn:uuid:3e671687-395b-41f5-a30f-a58921a69b79 */
  @Matches(SERIAL, { message: '$property must be "urn:uuid:" followed by a UUID in lowercase' }) serialNumber: string;
  /** @example 1 */
  @Matches(/^[1-9][0-9]{0,17}$/, { message: '$property must be an integer of at least 1, as a string' })
  version: string;
  /** The bom-ref of an element. If omitted, the link refers to the document. @example rsa */
  @Optional(Text(1, 2000)) ref?: string;

  toLink(): string {
    return bomLinkOf(this.serialNumber, this.version, this.ref);
  }
}

export class BomLinkDocumentsQuery extends PageQuery {
  /** Serial number of a document whose versions are listed. @example urn:uuid:3e671687-395b-41f5-a30f-a58921a69b79 */
  @IsOptional()
  @Matches(SERIAL, { message: '$property must be "urn:uuid:" followed by a UUID in lowercase' })
  serialNumber?: string;
}

export class LinkedDocumentView {
  /** @example urn:cdx:3e671687-395b-41f5-a30f-a58921a69b79/1 */
  link: string;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** @example urn:uuid:3e671687-395b-41f5-a30f-a58921a69b79 */
  serialNumber: string;
  /** @example 1 */
  version: string;
  /** Newest version with the same serial number. @example 2 */
  newestVersion: string;
  /** @example shop */
  source: string;
  /** @example "CycloneDX 1.6" */
  format: string;
  receivedAt: Date;

  static of(document: LinkedDocument): LinkedDocumentView {
    const { serialNumber, version } = document;
    const link = bomLinkOf(serialNumber, version);
    return viewOf(LinkedDocumentView, document, { link });
  }
}

export class LinkedAssetView {
  /** @example 0f9c2c1e-5a0b-8c3d-9e21-7d4b6a8c9e01 */
  id: string;
  @ApiProperty({ enum: ASSET_KINDS }) kind: string;
  /** @example RSA-2048 */
  name: string;
  @ApiProperty({ enum: LEVELS, nullable: true }) level: Level | null;
  @ApiProperty({ enum: ASSET_STATES }) state: string;

  static of(row: LinkedAsset): LinkedAssetView {
    const { level } = row;
    return viewOf(LinkedAssetView, row, { level: level === null ? null : (LEVELS[level] ?? null) });
  }
}

export class BomLinkView {
  /** @example urn:cdx:3e671687-395b-41f5-a30f-a58921a69b79/1#rsa */
  link: string;
  document: LinkedDocumentView;
  /** The linked asset in its current state. Present only for a link to an element. */
  asset?: LinkedAssetView;

  static of({ link, document, asset }: Resolved): BomLinkView {
    return {
      link,
      document: LinkedDocumentView.of(document),
      ...(asset === undefined ? {} : { asset: LinkedAssetView.of(asset) }),
    };
  }
}

export class BomLinkList {
  items: BomLinkView[];
  /** Always null: at most the newest documents of 20 sources are listed. @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;

  static of(links: readonly Resolved[]): BomLinkList {
    return { items: links.map((link) => BomLinkView.of(link)), nextCursor: null };
  }
}

export class LinkedDocumentPage extends PageOf(LinkedDocumentView) {}
