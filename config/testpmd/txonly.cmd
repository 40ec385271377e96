set fwd txonly
set burst 32
set txpkts 64
set txsplit off
set promisc all off
start
