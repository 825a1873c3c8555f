/** Builds the smallest Windows program that signing tools accept: PE32 with one code section (Microsoft PE format). */
export function portableExecutable(code: string): Buffer {
  const file = Buffer.alloc(1024);
  const header = 0x80;
  const optional = header + 24;
  const section = optional + 0xe0;
  file.write('MZ', 0);
  file.writeUInt32LE(header, 0x3c);
  file.write('PE\0\0', header);
  file.writeUInt16LE(0x14c, header + 4); // Machine: i386
  file.writeUInt16LE(1, header + 6); // NumberOfSections
  file.writeUInt16LE(0xe0, header + 20); // SizeOfOptionalHeader
  file.writeUInt16LE(0x102, header + 22); // Characteristics: executable, 32 bit
  file.writeUInt16LE(0x10b, optional); // Magic: PE32
  file.writeUInt32LE(0x1000, optional + 16); // AddressOfEntryPoint
  file.writeUInt32LE(0x400000, optional + 28); // ImageBase
  file.writeUInt32LE(0x1000, optional + 32); // SectionAlignment
  file.writeUInt32LE(0x200, optional + 36); // FileAlignment
  file.writeUInt16LE(4, optional + 48); // MajorSubsystemVersion
  file.writeUInt32LE(0x2000, optional + 56); // SizeOfImage
  file.writeUInt32LE(0x200, optional + 60); // SizeOfHeaders
  file.writeUInt16LE(3, optional + 68); // Subsystem: console
  file.writeUInt32LE(16, optional + 92); // NumberOfRvaAndSizes
  file.write('.text', section);
  file.writeUInt32LE(0x200, section + 8); // VirtualSize
  file.writeUInt32LE(0x1000, section + 12); // VirtualAddress
  file.writeUInt32LE(0x200, section + 16); // SizeOfRawData
  file.writeUInt32LE(0x200, section + 20); // PointerToRawData
  file.writeUInt32LE(0x60000020, section + 36); // Characteristics: code, execute, read
  file.write(code, 0x200);
  return file;
}
