import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Config } from '../platform/config/config.js';
import { LastingSeal } from '../platform/sealing/lasting-seal.js';
import { HsmLastingSeal, HsmSeal } from './hsm-seal.js';
import { KeyProcessVault } from './process/key-process-vault.js';
import { RefusedPin, RefusedPins } from './process/refused-pins.repository.js';
import { KeyVault } from './key-vault.js';

/**
 * HsmModule is the key boundary: it exports only the KeyVault and the seals based on the KeyVault. HsmModule is global, because the platform seals webhook
 * secrets with it. Config comes from a global module.
 */
@Global()
@Module({
  imports: [TypeOrmModule.forFeature([RefusedPin])],
  providers: [
    {
      provide: RefusedPins,
      inject: [DataSource, Config],
      useFactory: (db: DataSource, config: Config) => new RefusedPins(db, config),
    },
    {
      provide: KeyVault,
      inject: [Config, RefusedPins],
      useFactory: (config: Config, pins: RefusedPins) => new KeyProcessVault(config, pins),
    },
    HsmSeal,
    { provide: LastingSeal, useClass: HsmLastingSeal },
  ],
  exports: [KeyVault, HsmSeal, LastingSeal],
})
export class HsmModule {}
