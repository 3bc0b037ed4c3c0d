# haul as a Nix package: `nix run .# -- cp -a FROM TO`. This file has not been tried with Nix; the tested
# packages are those of `cargo xtask dist`.
{
  description = "Copies, moves, deletes, archives and streams file data as fast as the storage allows";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
      ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "haul";
          version = (fromTOML (builtins.readFile ./Cargo.toml)).workspace.package.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "--package=haul" ];
          # The tests need root, loop devices and GNU's programs of one version.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            for shell in bash zsh fish; do
              $out/bin/haul completions $shell > haul.$shell
              installShellCompletion --cmd haul --$shell haul.$shell
            done
            $out/bin/haul manual > haul.1
            installManPage haul.1
            for applet in $($out/bin/haul manual --list); do
              $out/bin/haul manual $applet > haul-$applet.1
              installManPage haul-$applet.1
            done
          '';
          meta = {
            description = "Copies, moves, deletes, archives and streams file data as fast as the storage allows";
            license = with pkgs.lib.licenses; [
              mit
              asl20
            ];
            mainProgram = "haul";
            platforms = systems;
          };
        };
      });
    };
}
