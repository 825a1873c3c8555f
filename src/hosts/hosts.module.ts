import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { HsmModule } from '../hsm/hsm.module.js';
import { ConnectionRecords } from './connections/connection-records.js';
import { ConnectionTester } from './connections/connection-tester.js';
import { HostChanges, SshConnections } from './connections/ssh-connections.service.js';
import { HostFiles } from './connections/host-files.service.js';
import { HostCredentials } from './credentials/host-credentials.js';
import { PrivateKeys } from './credentials/private-keys.service.js';
import { HostAuthoritiesController } from './host-keys/host-authorities.controller.js';
import { HostAuthorities } from './host-keys/host-authorities.service.js';
import { HostAuthority, HostKey } from './model/host-key.entity.js';
import { HostKeysController } from './host-keys/host-keys.controller.js';
import { HostKeyAlerts } from './host-keys/host-key-alerts.js';
import { HostKeysService, OwnHostKeys } from './host-keys/host-keys.service.js';
import { HostImport } from './import/host-import.service.js';
import { ImportedCredentials } from './import/imported-credentials.js';
import { ImportReading } from './import/import-reading.service.js';
import { HostAddressGuard } from './network/address-guard.service.js';
import { Host } from './model/host.entity.js';
import { HostMoves } from './records/host-moves.js';
import { HostRemoval, HostUses } from './records/host-removal.service.js';
import { HostSightings } from './records/host-sightings.service.js';
import { HostImportsController, HostsController } from './hosts.controller.js';
import { HostsReader } from './records/hosts.reader.js';
import { ManyHosts } from './records/many-hosts.service.js';
import { ScanGapsService } from './records/scan-gaps.service.js';
import { HostsService } from './records/hosts.service.js';

/** HostsModule contains host records, host keys and SSH connections. */
@Module({
  imports: [HsmModule, TypeOrmModule.forFeature([Host, HostAuthority, HostKey])],
  controllers: [HostAuthoritiesController, HostImportsController, HostsController, HostKeysController],
  providers: [
    HostAddressGuard,
    ConnectionRecords,
    ConnectionTester,
    HostAuthorities,
    HostChanges,
    HostCredentials,
    HostFiles,
    HostImport,
    HostKeyAlerts,
    HostKeysService,
    HostMoves,
    HostRemoval,
    HostSightings,
    HostsReader,
    HostsService,
    HostUses,
    ImportedCredentials,
    ManyHosts,
    ScanGapsService,
    ImportReading,
    OwnHostKeys,
    PrivateKeys,
    SshConnections,
  ],
  exports: [
    HostAddressGuard,
    HostChanges,
    HostFiles,
    HostKeysService,
    HostSightings,
    HostsService,
    HostUses,
    ScanGapsService,
    SshConnections,
  ],
})
export class HostsModule {}
