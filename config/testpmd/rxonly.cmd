set fwd rxonly
set promisc all on
start
