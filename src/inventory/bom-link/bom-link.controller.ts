import { Body, Controller, Get, HttpCode, HttpStatus, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs } from '../../access/access.js';
import { IdParam } from '../../platform/http/id-param.js';
import {
  BomLinkBody,
  BomLinkDocumentsQuery,
  BomLinkList,
  BomLinkQuery,
  BomLinkView,
  LinkedDocumentPage,
} from './bom-link.dto.js';
import { BomLinksReader } from './bom-links.reader.js';

@ApiTags('Inventory')
@Controller('api/bom-link')
export class BomLinkController {
  constructor(private readonly links: BomLinksReader) {}

  /** Makes a BOM-Link to a document or to an element of it, of what is known. */
  @Post()
  @HttpCode(HttpStatus.OK)
  @Needs('inventory:read')
  async makeBomLink(@Body() body: BomLinkBody): Promise<BomLinkView> {
    return BomLinkView.of(await this.links.resolve(body.toLink()));
  }

  /** Follows a BOM-Link, whatever version of the document it names. */
  @Get('resolve')
  @Needs('inventory:read')
  async resolveBomLink(@Query() { link }: BomLinkQuery): Promise<BomLinkView> {
    return BomLinkView.of(await this.links.resolve(link));
  }

  /** Lists the documents that can be linked to, every version of each, the newest first. */
  @Get('documents')
  @Needs('inventory:read')
  async listLinkedDocuments(
    @Query() { serialNumber, limit, cursor }: BomLinkDocumentsQuery,
  ): Promise<LinkedDocumentPage> {
    return LinkedDocumentPage.of(await this.links.documents(serialNumber, limit, cursor));
  }

  /** Lists the links to an asset, from the newest document of each source that shows it. */
  @Get('assets/:id')
  @Needs('inventory:read')
  async listAssetBomLinks(@Param() { id }: IdParam): Promise<BomLinkList> {
    return BomLinkList.of(await this.links.ofAsset(id));
  }
}
