import { Body, Controller, Delete, Get, HttpCode, HttpStatus, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { OwnNameBody, OwnNameQuery, OwnNamesView } from './own-names.dto.js';
import { OwnNamesService } from './own-names.service.js';
import { ReclassificationView } from './rule-changes.dto.js';

@ApiTags('Inventory')
@Controller('api/quantum-risk/names')
export class OwnNamesController {
  constructor(private readonly names: OwnNamesService) {}

  /** Lists the names of algorithms that people taught, with who did and why. */
  @Get()
  @Needs('inventory:read')
  async listOwnNames(): Promise<OwnNamesView> {
    return OwnNamesView.of(await this.names.list());
  }

  /** Teaches what a name of an algorithm stands for, in place of what was taught before; everything is then judged anew in the background. */
  @Put()
  @HttpCode(HttpStatus.ACCEPTED)
  @Needs('inventory:write')
  async teachName(@TheCaller() caller: Caller, @Body() body: OwnNameBody): Promise<ReclassificationView> {
    return ReclassificationView.of(await this.names.teach(caller, body));
  }

  /** Forgets a name; everything is then judged anew in the background. */
  @Delete()
  @HttpCode(HttpStatus.ACCEPTED)
  @Needs('inventory:write')
  async forgetName(@TheCaller() caller: Caller, @Query() { name }: OwnNameQuery): Promise<ReclassificationView> {
    return ReclassificationView.of(await this.names.forget(caller, name));
  }
}
